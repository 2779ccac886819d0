// Keys while a song of the study is heard. Those of the radio rest meanwhile.

const TYPING = "input:not([type=range]), select, textarea, [contenteditable]";

export function listenToKeys({ rate, know, toggle }, { signal }) {
  const onKey = (event) => {
    const { key, target } = event;
    if (event.defaultPrevented || event.repeat || isMeantElsewhere(event)) return;
    if (/^[1-5]$/.test(key)) rate(Number(key));
    else if (key === "i" || key === "I") know();
    else if (key === "k" || key === "K") toggle();
    else if (key === " " && !target.closest("button, a, summary, input")) toggle();
    else return;
    event.preventDefault();
  };
  document.addEventListener("keydown", onKey, { signal });
}

function isMeantElsewhere({ target, ctrlKey, metaKey, altKey }) {
  if (ctrlKey || metaKey || altKey || target.closest(TYPING)) return true;
  return document.querySelector("dialog[open], [popover]:popover-open") !== null;
}
