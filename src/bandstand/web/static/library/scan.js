// The scan of the library, the files that failed, and how the server is: for administrators.

import { call } from "../app/api.js";
import { fill, h, icon } from "../app/dom.js";
import { notice, problem } from "../app/notices.js";
import { link, way } from "../app/router.js";
import { empty, load } from "../app/states.js";
import { failedFiles } from "./failed_files.js";
import { followScan } from "./follow_scan.js";
import { counted, progressBar, stateInWords, timesInWords } from "./scan_words.js";
import { statusList } from "./server_status.js";

export const title = "Scan";

const LIST_AGAIN = 3_000; // milliseconds
const RESTING = ["idle", "stopped"];
const isBusy = ({ state }) => !RESTING.includes(state);

export async function show(main, { person, signal }) {
  const back = h("p.small", {}, link(way("library"), { class: "back" }, "Library"));
  if (person.role !== "admin") {
    const note = empty("folder", "Only administrators see how the library is read.");
    main.append(h("div.stack", {}, back, h("h1", {}, "Scan"), note));
    return;
  }
  const page = new ScanPage(signal);
  main.append(h("div.stack", {}, back, h("h1", {}, "Scan"), page.element));
  await page.begin();
}

class ScanPage {
  constructor(signal) {
    this.signal = signal;
    this.last = null; // the progress that is shown
    this.progress = h("section.card.stack", { "aria-label": "Scan" });
    this.status = h("div");
    this.failed = h("div");
    this.element = h(
      "div.scan-page",
      {},
      this.progress,
      h("section.card.stack.scan-failed", {}, h("h2", {}, "Files that failed"), this.failed),
      h("section.card.stack.scan-server", {}, h("h2", {}, "Server"), this.status),
    );
  }

  get isBusy() {
    return this.last !== null && isBusy(this.last);
  }

  async begin() {
    const ask = () => call("GET", "/api/admin/scan", undefined, { signal: this.signal });
    await load(this.progress, ask, (progress) => {
      this.last = progress;
      return this.drawn(progress);
    });
    await this.reload();
    const hear = (progress) => this.hear(progress);
    this.askAgain = followScan(hear, ({ isReached }) => this.reached(isReached), this.signal);
  }

  reload() {
    const { signal } = this;
    const status = () => call("GET", "/api/admin/status", undefined, { signal });
    const drawn = load(this.status, status, (found) => statusList(found, { isBusy: this.isBusy }));
    return Promise.all([drawn, this.reloadFailed()]);
  }

  reloadFailed() {
    this.listed = { failed: this.last?.counts.failed, at: Date.now() };
    return failedFiles(this.failed, { isBusy: this.isBusy, signal: this.signal });
  }

  hear(progress) {
    const { isBusy: wasBusy } = this;
    const isSame = JSON.stringify(progress) === JSON.stringify(this.last);
    this.last = progress;
    // What says the same is not drawn again; only the time is.
    if (isSame && !this.isBusy) this.when.textContent = timesInWords(progress);
    else this.redraw(progress);
    if (wasBusy !== this.isBusy) this.reload();
    else if (this.hasNewFailures(progress)) this.reloadFailed();
  }

  redraw(progress) {
    const buttons = () => [...this.progress.querySelectorAll("button")];
    const held = buttons().indexOf(document.activeElement);
    fill(this.progress, this.drawn(progress));
    buttons()[held]?.focus({ preventScroll: true });
  }

  // Now and then, and not while they have the focus.
  hasNewFailures({ counts }) {
    const { failed, at } = this.listed ?? { at: Infinity };
    const isHeld = this.failed.contains(document.activeElement);
    return counts.failed !== failed && Date.now() - at > LIST_AGAIN && !isHeld;
  }

  reached(isReached) {
    this.progress.classList.toggle("out-of-reach", !isReached);
  }

  drawn(progress) {
    this.when = h("p.faint.small", {}, timesInWords(progress));
    return [
      h("div.stack.tight", {}, h("h2", {}, stateInWords(progress)), this.when),
      isBusy(progress) ? progressBar(progress) : null,
      progress.problem ? h("p.notes", {}, icon("warning"), progress.problem) : null,
      counted(progress, isBusy(progress)),
      h("p.faint.small.unreached", {}, "The server cannot be reached; trying again."),
      this.actions(progress),
    ];
  }

  actions(progress) {
    const isOff = isBusy(progress);
    const button = (label, body, kind) =>
      h(kind, { type: "button", disabled: isOff, onclick: () => this.start(body) }, label);
    return h(
      "div.row",
      {},
      button("Scan now", {}, "button.main"),
      button("Read failed files again", { retry: true }, "button"),
    );
  }

  async start(body) {
    try {
      const { started, ...progress } = await call("POST", "/api/admin/scan", body);
      notice(started ? "The scan has begun." : "A scan is under way already.");
      this.hear(progress);
      this.askAgain();
    } catch (error) {
      problem(error);
    }
  }
}
