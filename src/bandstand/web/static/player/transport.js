// The controls of what is heard: seeking, back, play, next, volume.

import { fill, h, icon } from "../app/dom.js";
import { clock } from "../app/words.js";
import { radio } from "./radio.js";
import { sound } from "./sound.js";

const FULL = 1_000; // steps of the seek bar; a song has no whole number of seconds

export function playButton(signal, { isLarge = false } = {}) {
  const button = h(isLarge ? "button.main.play" : "button.quiet.round", {
    type: "button",
    onclick: () => radio.togglePlay(),
  });
  let shown = null;
  const draw = () => {
    const name = radio.isPlaying ? "Pause" : "Play";
    if (name === shown) return;
    shown = name;
    button.setAttribute("aria-label", name);
    fill(button, icon(name.toLowerCase()));
  };
  radio.addEventListener("state", draw, { signal });
  radio.addEventListener("song", draw, { signal });
  draw();
  return button;
}

export function transport(signal) {
  return h(
    "div.transport",
    { role: "group", "aria-label": "Controls" },
    h(
      "button.quiet.round",
      { type: "button", "aria-label": "Back", title: "Back (P)", onclick: () => radio.back() },
      icon("back"),
    ),
    playButton(signal, { isLarge: true }),
    h(
      "button.quiet.round",
      { type: "button", "aria-label": "Next", title: "Next (N)", onclick: () => radio.skip() },
      icon("next"),
    ),
  );
}

export function seekBar(signal) {
  const passed = h("span.number", {});
  const whole = h("span.number", {});
  const slider = range({ "aria-label": "Position", min: 0, max: FULL, step: 1 });
  let isHeld = false;
  const at = () => (Number(slider.value) / FULL) * radio.duration;
  const write = (seconds) => {
    passed.textContent = clock(seconds);
    slider.setAttribute("aria-valuetext", `${clock(seconds)} of ${clock(radio.duration)}`);
    slider.style.setProperty("--done", Number(slider.value) / FULL);
  };
  const draw = () => {
    whole.textContent = clock(radio.duration);
    if (isHeld) return;
    const share = radio.duration > 0 ? radio.position / radio.duration : 0;
    slider.value = String(Math.round(FULL * share));
    write(radio.position);
  };
  slider.addEventListener("input", () => {
    isHeld = true;
    write(at());
  });
  slider.addEventListener("change", () => {
    isHeld = false;
    radio.seek(at());
  });
  slider.addEventListener("keydown", (event) => seekByKey(event));
  radio.addEventListener("time", draw, { signal });
  radio.addEventListener("song", draw, { signal });
  draw();
  return h("div.seek", {}, slider, h("div.row.apart.small.faint", {}, passed, whole));
}

// A thousandth of a song is no step for a finger on a key.
function seekByKey(event) {
  const step = {
    ArrowLeft: -5,
    ArrowDown: -5,
    ArrowRight: 5,
    ArrowUp: 5,
    PageDown: -30,
    PageUp: 30,
  }[event.key];
  if (step === undefined) return;
  event.preventDefault();
  radio.seek(radio.position + step);
}

export function volume(signal) {
  const slider = range({ "aria-label": "Volume", min: 0, max: 1, step: 0.01 });
  const mute = h("button.quiet.round", {
    type: "button",
    onclick: () => (sound.isMuted = !sound.isMuted),
  });
  const draw = () => {
    const value = sound.isMuted ? 0 : sound.volume;
    slider.value = String(value);
    slider.style.setProperty("--done", value);
    slider.setAttribute("aria-valuetext", `${Math.round(100 * value)} %`);
    mute.setAttribute("aria-label", sound.isMuted ? "Unmute" : "Mute");
    mute.title = sound.isMuted ? "Unmute (M)" : "Mute (M)";
    fill(mute, icon(value === 0 ? "quiet" : "volume"));
  };
  slider.addEventListener("input", () => (sound.volume = Number(slider.value)));
  sound.addEventListener("volume", draw, { signal });
  draw();
  return h("div.volume", {}, mute, slider);
}

// Limits first: a value outside of those that stand is clipped.
export function range({ min, max, step, ...properties }) {
  return h("input.slider", {
    type: "range",
    min: String(min),
    max: String(max),
    step: String(step),
    ...properties,
  });
}
