// Links to a song's artist and album.

import { way } from "../app/router.js";

export const artistWay = (song) => way("library", null, { artist: song.artist });

// Albums of the same name differ by their artist.
export function albumWay(song) {
  const artist = song.album_artist ?? song.artist;
  return way("library", null, { album: song.album, ...(artist ? { album_artist: artist } : {}) });
}
