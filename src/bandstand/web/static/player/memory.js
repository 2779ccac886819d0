// What a visit remembers over a reload of the page: what plays, what was queued, where it started
// from, and of which years. It is the tab's own, and of one account.

import { isYears } from "./years.js";

const NAME = "bandstand.visit";

export function remember(account, visit) {
  try {
    sessionStorage.setItem(NAME, JSON.stringify({ account, ...visit }));
  } catch {
    // a private window, or no room: then a reload starts over
  }
}

// Returns {current, time, played, isPaused, rating, pinned, station, years}, as far as they are known.
export function recall(account) {
  try {
    const visit = JSON.parse(sessionStorage.getItem(NAME));
    return visit?.account === account && isVisit(visit) ? visit : {};
  } catch {
    return {};
  }
}

export function forget() {
  try {
    sessionStorage.removeItem(NAME);
  } catch {
    // then there is nothing to forget
  }
}

// ── What a visit looks like: another version of the page, or a hand, may have written it ──

function isVisit({ current, time, played, rating, pinned, station, years }) {
  return (
    isMissingOr(isOffer, current) &&
    [time, played].every((one) => isMissingOr(Number.isFinite, one)) &&
    isMissingOr(isRating, rating) &&
    isMissingOr(isListOfSongs, pinned) &&
    isMissingOr(isStation, station) &&
    isMissingOr(isYears, years)
  );
}

const isMissingOr = (isRight, value) => value === undefined || value === null || isRight(value);
const isText = (value) => typeof value === "string";
const isSong = (song) => [song?.id, song?.title, song?.audio].every(isText);
const isListOfSongs = (songs) => Array.isArray(songs) && songs.every(isSong);
const isOffer = ({ song, why }) => isSong(song) && typeof (why ?? {}) === "object";
const isRating = ({ stars }) => [1, 2, 3, 4, 5].includes(stars);

function isStation({ name, song, artist, genre }) {
  const given = [song, artist, genre].filter((one) => one !== undefined && one !== null);
  return isText(name) && given.length === 1 && isText(given[0]);
}
