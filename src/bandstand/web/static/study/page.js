// The study: consent, parts, songs, breaks. One thing at a time, and the server says which.

import { fill, h, icon } from "../app/dom.js";
import { notice } from "../app/notices.js";
import { nameWindow } from "../app/shell.js";
import { failed, load } from "../app/states.js";
import { announce } from "../app/tabs.js";
import { connection } from "../player/connection.js";
import { takeMediaKeys } from "../player/media_session.js";
import { sound } from "../player/sound.js";
import { consentView } from "./consent.js";
import * as studyApi from "./study_api.js";
import { SongPlayback } from "./song_playback.js";
import { listeningView } from "./listening.js";
import { partsView } from "./parts.js";
import { progressOfAll } from "./progress.js";
import { withdrawButton } from "./withdraw.js";
import { missedWords, refusalWords, span } from "./words.js";

export const title = "Study";

const READY = {
  begin: "The next part can begin now.",
  listen: "The break is over. You can go on.",
};

export async function show(main, { person, signal }) {
  await new Visit(main, person, signal).begin();
}

class Visit {
  #place = h("div.study");
  #voice = h("p.unseen", { role: "status" }); // for those who do not look
  #person;
  #signal; // of the page
  #view = new AbortController(); // of what is shown on it
  #study = null;

  constructor(main, person, signal) {
    this.#person = person;
    this.#signal = signal;
    main.append(this.#place, this.#voice);
    connection.watch();
    takeMediaKeys({ onPlay: () => sound.start(), onPause: () => sound.pause() });
    signal.addEventListener("abort", () => this.#end(), { once: true });
  }

  #end() {
    this.#view.abort();
    connection.unwatch();
    takeMediaKeys();
  }

  // ── Where one stands ──

  // What an earlier visit could not deliver goes first.
  async begin() {
    await load(
      this.#place,
      () => this.#ask(),
      (study) => this.#made(study),
    );
  }

  async #ask() {
    const refused = await studyApi.deliverKept(this.#person.id);
    if (refused) notice(refusalWords(refused));
    return studyApi.standing(this.#signal);
  }

  // After something that was pressed: who reads with their ears begins at the new heading.
  #show(study) {
    this.#put(this.#made(study));
  }

  #made(study) {
    this.#study = study;
    const { signal } = this.#renew();
    this.#voice.textContent = "";
    nameWindow({ page: title });
    if (study === null) return this.#nothing(signal);
    const isAdmin = this.#person.role === "admin";
    return [this.#standing(study, signal), isAdmin ? progressOfAll({ signal }) : null];
  }

  #standing(study, signal) {
    if (study.state === "consent") return consentView(study, { onAgree: () => this.#agree() });
    return partsView(study, {
      person: this.#person,
      signal,
      onGo: () => this.#go(),
      onEnd: () => this.#waitIsOver(),
      onGone: () => this.#withdrawn(study),
    });
  }

  // Asked again: the consent may have been given since the page was opened, here or elsewhere.
  #nothing(signal) {
    const place = h("div.stack");
    load(
      place,
      () => studyApi.membership(signal),
      (mine) => this.#afterwards(mine),
    );
    return h(
      "div.study-closed",
      {},
      icon("study"),
      h("h1", {}, "No study is open at the moment"),
      place,
    );
  }

  // What was given to a study that is closed can be taken back too.
  #afterwards(mine) {
    if (mine === null) return null;
    if (!mine.joined) return missedWords(mine).map((text) => h("p", {}, text));
    const onGone = () => this.#withdrawn(mine);
    const thanks = "Thank you for having taken part.";
    return [
      h("p", {}, mine.only ? `${thanks} You can log out now.` : thanks),
      h("p.faint", {}, "The study is closed, but you can still withdraw from it."),
      h("div", {}, withdrawButton(mine, { person: this.#person, onGone })),
    ];
  }

  #renew() {
    this.#view.abort();
    this.#view = new AbortController();
    return this.#view;
  }

  #put(...content) {
    fill(this.#place, content);
    this.#focus();
    window.scrollTo(0, 0);
  }

  #focus() {
    const heading = this.#place.querySelector("h1");
    heading?.setAttribute("tabindex", "-1");
    heading?.focus({ preventScroll: true });
  }

  // Announced each time, also if it is the same as before.
  #say(words) {
    this.#voice.textContent = "";
    setTimeout(() => (this.#voice.textContent = words), 50);
  }

  // Nothing was pressed: the focus stays where it is, unless that is gone.
  async #waitIsOver() {
    const { signal } = this.#view;
    try {
      const study = await studyApi.standing(this.#signal);
      if (signal.aborted) return;
      const wasHere = this.#place.contains(document.activeElement);
      fill(this.#place, this.#made(study));
      if (wasHere) this.#focus();
      if (!READY[study?.state]) return;
      this.#say(READY[study.state]);
      nameWindow({ page: "Ready" });
    } catch (error) {
      if (!signal.aborted) this.#fail(error);
    }
  }

  // ── What is pressed ──

  async #agree() {
    this.#show(await studyApi.agree(this.#signal));
  }

  // Another device may have been used since this page was drawn: so it is asked again.
  async #go() {
    const before = this.#study;
    nameWindow({ page: title });
    this.#choosing();
    await this.#try(async (signal) => {
      const study = await studyApi.standing(signal);
      if (study?.state !== before.state || study.place !== before.place) return this.#show(study);
      this.#study = study;
      await this.#begin(study, signal);
    });
  }

  async #begin({ state, place, arms, pending }, signal) {
    if (pending?.song.is_present) return this.#listen(pending);
    const { id } = arms.find((arm) => arm.place === place);
    if (state === "begin") this.#study = await studyApi.begin(id, signal);
    await this.#next(id, signal);
  }

  async #next(arm, signal) {
    const offer = await studyApi.nextSong(arm, signal);
    if (!signal.aborted) this.#listen({ arm, ...offer });
  }

  // Do something that may be refused; then the server says where one stands.
  async #try(work) {
    const { signal } = this.#view;
    try {
      await work(signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error.status === 409 || error.status === 404) await this.#refused(error);
      else this.#fail(error);
    }
  }

  async #refused(error) {
    notice(refusalWords(error));
    try {
      const study = await studyApi.standing(this.#signal);
      if (!this.#signal.aborted) this.#show(study);
    } catch (problem) {
      if (!this.#signal.aborted) this.#fail(problem);
    }
  }

  #fail(error) {
    const again = () => {
      this.#put(h("h1", {}, title));
      this.begin();
    };
    this.#renew();
    this.#put(h("h1", {}, title), failed(error, again));
  }

  #withdrawn({ only }) {
    announce("session");
    if (only) return location.reload();
    notice("You have withdrawn. What you gave to the study is deleted.");
    this.begin().then(() => this.#focus());
  }

  // ── Songs ──

  #choosing() {
    this.#renew();
    this.#put(
      h(
        "div.study-choosing",
        {},
        h("div.study-breath", { "aria-hidden": "true" }),
        h("h1", {}, "Choosing a song for you …"),
        h("p.faint", {}, "This takes a few seconds, always the same."),
      ),
    );
  }

  #listen(offer) {
    const { signal } = this.#renew();
    const study = this.#study;
    const onStuck = () => this.#askAgain(offer);
    const account = this.#person.id;
    const hearing = new SongPlayback(offer, { account, rules: study.rules, signal, onStuck });
    const view = listeningView(offer, {
      study,
      hearing,
      signal,
      onRate: (rating) => this.#rate(offer, rating, { view, hearing, signal }),
      onLeave: () => this.#stop(),
      say: (words) => this.#say(words),
    });
    this.#put(view.element);
    hearing.begin();
  }

  async #askAgain({ arm }) {
    this.#choosing();
    await this.#try((signal) => this.#next(arm, signal));
  }

  async #stop() {
    this.#renew();
    await this.begin();
    this.#focus();
  }

  async #rate({ arm, number }, rating, { view, hearing, signal }) {
    try {
      const sent = { arm, number, ...rating };
      const study = await studyApi.rate(this.#person.id, sent, { onDelay: () => view.delay() });
      hearing.finish();
      if (signal.aborted) return;
      this.#study = study;
      view.go();
      if (study?.state !== "listen") return this.#show(study);
      this.#say("Thank you. Choosing the next song.");
      await this.#next(arm, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error.code === "too_early") this.#tooEarly(error, { view, hearing });
      else if (error.status === 409 || error.status === 404) await this.#refused(error);
      else this.#fail(error);
    }
  }

  #tooEarly(error, { view, hearing }) {
    hearing.waitFor(error.retryAfter ?? 1);
    hearing.play();
    view.refuse(`Not yet: it can be rated in ${span(error.retryAfter ?? 1)}.`);
  }
}
