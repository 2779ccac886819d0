"""Who plays the demo library: invented artists, their albums, and titles to choose from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Credits:
    """The names of one style: artists with an album each, and titles for any of them."""

    albums: tuple[tuple[str, str], ...]  # (artist, album)
    titles: tuple[str, ...]


CREDITS: Final[dict[str, Credits]] = {
    "Ambient": Credits(
        albums=(
            ("Slow Harbour", "Tide Tables"),
            ("Ivo Lindqvist", "Rooms Without Corners"),
            ("The Long Exposure", "Night Ferry"),
            ("Hazel & Fog", "Weather for Later"),
        ),
        titles=(
            "Snow on the Antenna",
            "A Window Left Open",
            "Half a Mile of Mist",
            "The Lighthouse Keeps Still",
            "Letters to the Moon",
            "Breathing Room",
            "Glass Valley",
            "Everyone Asleep but the Sea",
            "Drift Ice",
            "The Hour Before Birds",
            "Low Clouds, Slow Trains",
            "What the Lake Remembers",
        ),
    ),
    "Lullaby": Credits(
        albums=(
            ("Tante Mimi", "Buttons and Stars"),
            ("The Clockwork Nursery", "Wound by Hand"),
            ("Pim Oosterbeek", "Small Songs for Small Hours"),
            ("Marigold Tin", "Songs from the Bottom Drawer"),
        ),
        titles=(
            "Goodnight, Little Teapot",
            "The Sheep Who Counted Us",
            "A Blanket Made of Clouds",
            "Moonlight on the Rocking Horse",
            "Seven Sleepy Foxes",
            "The Tin Ballerina",
            "Button Up the Sky",
            "Where the Bears Put Their Slippers",
            "Hush Now, Harmonica",
            "The Night Train to Pillow Town",
            "Three Mice and a Lantern",
            "Under the Quiet Bridge",
        ),
    ),
    "Waltz": Credits(
        albums=(
            ("Orchestre Papillon", "Rue des Parapluies"),
            ("Madame Lucette", "Dimanche au Canal"),
            ("The Crooked Carousel", "Once More Around"),
            ("Anton Veselka", "Cherries in the Rain"),
        ),
        titles=(
            "The Umbrella Seller's Waltz",
            "Second-Hand Roses",
            "Turning, Turning, Tumbling",
            "A Bicycle for Josephine",
            "The Baker Dances at Dawn",
            "Three Steps to Montmartre",
            "Waltz of the Lost Gloves",
            "Your Hat, Monsieur",
            "Lemonade on the Balcony",
            "The Last Boat to the Island",
            "Paper Lanterns",
            "The Postman's Secret",
        ),
    ),
    "Jazz": Credits(
        albums=(
            ("The Eddie Marlow Quartet", "After the Last Tram"),
            ("Dolores Quill", "Blue Umbrella"),
            ("Half Past Midnight", "One More, Then Home"),
            ("Theo Brandt Trio", "Smoke Rings in the Library"),
        ),
        titles=(
            "Rain Check",
            "Nobody's Table by the Door",
            "The Bartender Hums Along",
            "Velvet and Toast",
            "She Left Her Scarf",
            "Streetlamps, Counted Twice",
            "A Slow Dance with the Mop",
            "Coffee at Quarter to Two",
            "Old Shoes, New Moon",
            "The Taxi Can Wait",
            "Sunday in a Minor Way",
            "You Were Saying?",
        ),
    ),
    "Chiptune": Credits(
        albums=(
            ("Pixel Otter", "Insert Courage"),
            ("8-Bit Brigade", "Lives: 3"),
            ("Kiko Cartridge", "Save Point Serenade"),
            ("Captain Sprite", "Bonus Stage"),
        ),
        titles=(
            "The Princess Rescues Herself",
            "Coin Room",
            "Warp Pipe Holiday",
            "Mushroom Traffic",
            "Level One Forever",
            "Jetpack Lemonade",
            "Boss Fight at the Bakery",
            "Double Jump",
            "Robots in the Rain Forest",
            "Press Start to Dream",
            "The Hidden Staircase",
            "High Score Heart",
        ),
    ),
    "House": Credits(
        albums=(
            ("Velour Department", "Mirrorball Maintenance"),
            ("Nina Neon", "Basement Sunrise"),
            ("Club Aquarium", "Swimming Upstairs"),
            ("Deep Laundry", "Spin Cycle"),
        ),
        titles=(
            "Four in the Morning, Four to the Floor",
            "Warehouse Weather",
            "Keep the Receipt",
            "Elevator to the Sun",
            "Glitter on the Night Bus",
            "Lost Coat Anthem",
            "Everybody Knows Your Shoes",
            "Strobe and Sympathy",
            "Feel the Ventilation",
            "Tangerine Strobe",
            "Hands of the Crowd",
            "One More Hour",
        ),
    ),
    "Drum and bass": Credits(
        albums=(
            ("Kestrel Unit", "Motorway Lullabies"),
            ("Sub Rosa Transit", "Last Train, Fast Train"),
            ("Tunnel Vision Club", "Concrete Garden"),
            ("Ada Voltage", "Pulse Width"),
        ),
        titles=(
            "Sodium Lights",
            "Ring Road",
            "Heartbeats per Hour",
            "Rain at One Hundred Miles",
            "The Pigeons of Platform Nine",
            "Underpass",
            "Static Bloom",
            "Overtaking the Dawn",
            "Rooftop Signals",
            "Fast Forward, Slow Love",
            "Breakfast in the Tunnel",
            "Copper Wire Sky",
        ),
    ),
    "Folk": Credits(
        albums=(
            ("Wren & Barley", "The Long Way to the Mill"),
            ("Old Tom Hathersage", "Boots by the Fire"),
            ("The Hedgerow Sisters", "Apples Out of Season"),
            ("Fionn Carrow", "Seven Miles of Heather"),
        ),
        titles=(
            "The Miller's Other Daughter",
            "Blackberry Lane",
            "A Penny for the Ferryman",
            "When the Geese Come Home",
            "My Father's Second-Best Coat",
            "The Fiddler Missed the Wedding",
            "Stone Walls and Small Gates",
            "Wild Thyme",
            "Carry the Kettle, Mary",
            "The Road Above the Farm",
            "Three Crows on a Gate",
            "Winter Wheat",
        ),
    ),
    "String quartet": Credits(
        albums=(
            ("The Linden Quartet", "Four Chairs in a Garden"),
            ("Quatuor Hirondelle", "Letters and Replies"),
            ("The Marchmont Strings", "An Evening at Number Nine"),
            ("The Alderbrook Four", "Autumn Rooms"),
        ),
        titles=(
            "Conversation in the Orchard",
            "Andante for a Late Guest",
            "The Letter, Folded Twice",
            "A Walk Around the Pond",
            "Minuet for Unequal Partners",
            "The Argument, and After",
            "Song of the Tall Clock",
            "Allegretto with Umbrella",
            "Leaves on the Piano Lid",
            "A Toast to Absent Friends",
            "The Cellist's Garden",
            "Farewell at the Green Door",
        ),
    ),
    "March": Credits(
        albums=(
            ("The Pier Pavilion Band", "Sunday at the Bandstand"),
            ("Municipal Brass of Little Wexley", "Buttons Polished"),
            ("Captain Pomfret's Own", "Left, Right, Tea"),
            ("The Tramway Workers' Band", "All Change"),
        ),
        titles=(
            "The Mayor's New Bicycle",
            "Parade of the Garden Gnomes",
            "Colonel Bumble's Quickstep",
            "Ices on the Promenade",
            "The Fire Brigade's Day Off",
            "Salute to the Tea Urn",
            "Sunday Best",
            "The Ducks Inspect the Guard",
            "Forward, the Picnic",
            "Brass Buttons",
            "The Grand Old Deck Chair",
            "Three Cheers for the Pump Room",
        ),
    ),
}
