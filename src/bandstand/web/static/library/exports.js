// A playlist as a file for other players.

import { address } from "../app/api.js";
import { showPanel } from "../app/dialog.js";
import { h, icon } from "../app/dom.js";

const FORMATS = [
  ["m3u8", "M3U8", "for most players"],
  ["xspf", "XSPF", "for VLC and others"],
  ["jspf", "JSPF", "for ListenBrainz"],
];
const ADDRESSES = "The file names addresses of this server, and playing them needs a login.";
const PATHS = "For a player on the computer where the music is. It needs no login then.";

export function exportButton(playlist, { isAdmin }) {
  const open = () => showExports(playlist, { isAdmin });
  const properties = { type: "button", "aria-haspopup": "dialog", onclick: open };
  return h("button", properties, icon("download"), "Export");
}

export function showExports({ id, name }, { isAdmin }) {
  const links = FORMATS.map(([, label, use]) =>
    h(
      "a.export",
      { download: "" },
      icon("download"),
      h("strong", {}, label),
      h("span.faint.small", {}, use),
    ),
  );
  const hint = h("p.hint", {}, ADDRESSES);
  const box = h("input", { type: "checkbox", role: "switch", onchange: point });

  function point() {
    hint.textContent = box.checked ? PATHS : ADDRESSES;
    for (const [index, [format]] of FORMATS.entries()) {
      const query = { format, paths: box.checked ? "true" : null };
      links[index].setAttribute("href", address(`/api/playlists/${encodeURIComponent(id)}`, query));
    }
  }
  point();

  const paths = isAdmin ? h("label.switch", {}, h("span", {}, "With file paths"), box) : null;
  showPanel(`Export “${name}”`, [h("div", {}, links), h("div", {}, paths, hint)]);
}
