// The page of an account that was made for the study only.

import { h } from "../app/dom.js";
import { account } from "../settings/account.js";
import { section } from "../settings/pieces.js";

export const title = "Account";

export async function show(main, { person, signal }) {
  main.append(
    h("h1", {}, "Account"),
    h(
      "div.settings",
      {},
      section(
        "account",
        "You",
        "Your password, your devices, your data.",
        account(person, { signal }),
      ),
    ),
  );
}
