// What a page of another site can try against a radio that its visitor is logged in to.
// Every function tries one way with everything there is, and returns what it got to know or see.

const TYPES = ["text/plain", "application/x-www-form-urlencoded", "application/json"];
const PATIENCE = 10000; // milliseconds, for what may never answer

const within = (promise, patience) =>
  Promise.race([promise, new Promise((done) => setTimeout(() => done(null), patience))]);

// Some at a time: a browser opens six connections, and these are hundreds of requests.
async function each(things, attempt, patience = PATIENCE) {
  const seen = [];
  const left = [...things];
  const worker = async () => {
    while (left.length) {
      const found = await within(attempt(left.shift()), patience);
      if (found) seen.push(found);
    }
  };
  await Promise.all([worker(), worker(), worker(), worker(), worker(), worker()]);
  return seen;
}

// Requests by script, with every method, mode and type that a script may name.
window.fetches = (address, wanted) => {
  const tries = [];
  for (const { method, target, body } of wanted) {
    for (const mode of ["no-cors", "cors", "same-origin"]) {
      const types = method === "GET" || method === "HEAD" ? [null] : TYPES;
      for (const type of types) tries.push({ method, target, body, mode, type });
    }
  }
  return each(tries, async ({ method, target, body, mode, type }) => {
    try {
      const answer = await fetch(address + target, {
        method,
        mode,
        credentials: "include",
        redirect: "follow",
        ...(type && { body: JSON.stringify(body), headers: { "Content-Type": type } }),
      });
      // An opaque answer tells nothing: no status, no headers, no body.
      if (answer.type === "opaque" && answer.status === 0) return null;
      return `${method} ${target} ${mode} ${type}: ${answer.status} ${await answer.text()}`;
    } catch {
      return null;
    }
  });
};

// JSON that a form can send: what stands around its "=" is made part of a text.
function smuggled(body) {
  const text = JSON.stringify(body);
  const place = text.search(/":"/) + 3;
  return place > 2 ? [text.slice(0, place), text.slice(place)] : [text, ""];
}

// Forms, sent into frames or new windows: nobody has to click.
window.forms = async (address, wanted, target) => {
  const tries = [];
  for (const one of wanted) {
    const kinds = ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded"];
    for (const kind of target ? kinds.slice(0, 1) : kinds) tries.push({ ...one, kind });
  }
  return each(tries, ({ method, target: path, body, kind }) => {
    const frame = document.createElement("iframe");
    frame.name = `frame${Math.random()}`;
    const form = document.createElement("form");
    form.method = method === "GET" ? "get" : "post";
    form.action = address + path;
    form.enctype = kind;
    form.target = target || frame.name;
    const [name, value] = smuggled(body);
    for (const [key, content] of [
      [name, value],
      ["_method", method],
    ]) {
      if (key === "_method" && method === "POST") continue;
      const field = document.createElement("input");
      field.type = "hidden";
      field.name = key;
      field.value = content;
      form.append(field);
    }
    document.body.append(frame, form);
    if (target) {
      form.submit();
      return Promise.resolve(null);
    }
    return new Promise((done) => {
      frame.addEventListener("load", () => {
        const inside = readable(frame);
        if (inside === "" && !frame.dataset.sent) {
          return; // the empty document that a frame begins with
        }
        done(inside ? `form ${path}: ${inside}` : null);
      });
      frame.dataset.sent = "yes";
      form.submit();
    });
  });
};

// What can be read inside a frame: the empty page it begins with, or what should not be.
function readable(frame) {
  try {
    return frame.contentDocument
      ? frame.contentDocument.documentElement.outerHTML
          .slice(26, 300)
          .replace("<body></body></html>", "")
      : "";
  } catch {
    return "";
  }
}

window.beacons = (address, wanted) => {
  for (const { target, body } of wanted) {
    const text = JSON.stringify(body);
    navigator.sendBeacon(address + target, text);
    for (const type of TYPES) navigator.sendBeacon(address + target, new Blob([text], { type }));
  }
  return [];
};

// Everything that can be embedded: whether it loads is already something to know.
const EMBEDDED = {
  img: (element, address) => {
    element.src = address;
  },
  script: (element, address) => {
    element.src = address;
  },
  "script module": (element, address) => {
    element.type = "module";
    element.src = address;
  },
  link: (element, address) => {
    element.rel = "stylesheet";
    element.href = address;
  },
  audio: (element, address) => {
    element.src = address;
  },
  video: (element, address) => {
    element.src = address;
  },
  "video poster": (element, address) => {
    element.poster = address;
  },
};
window.embeds = (address, targets) => {
  const tries = [];
  for (const target of targets) {
    for (const kind of Object.keys(EMBEDDED)) tries.push({ target, kind });
  }
  return each(
    tries,
    ({ target, kind }) =>
      new Promise((done) => {
        const element = document.createElement(kind.split(" ")[0]);
        const got = () => done(`${kind} ${target}`);
        for (const good of ["load", "loadedmetadata", "canplay"])
          element.addEventListener(good, got);
        element.addEventListener("error", () => done(null));
        EMBEDDED[kind](element, address + target);
        document.body.append(element);
        if (kind === "video poster") setTimeout(() => done(null), 50);
      }),
  );
};

// Frames of every page and file; they stay, so that the test can look into them from outside.
window.frames_of = (address, targets) =>
  each(
    targets,
    (target) =>
      new Promise((done) => {
        for (const [kind, place] of [
          ["iframe", "src"],
          ["object", "data"],
          ["embed", "src"],
        ]) {
          const element = document.createElement(kind);
          element[place] = address + target;
          element.style.opacity = "0.01"; // as whoever steals a click would have it
          if (kind === "iframe") {
            element.addEventListener("load", () => {
              const inside = readable(element);
              done(inside ? `frame ${target}: ${inside}` : null);
            });
          }
          document.body.append(element);
        }
        // What is saved instead of shown never loads.
      }),
    1500,
  );

// A window of the radio: what of it can be reached, and whether it listens.
window.windows = async (address) => {
  const seen = [];
  const opened = window.open(`${address}/`, "radio");
  await new Promise((done) => setTimeout(done, 1500));
  for (const what of ["document", "localStorage", "navigator"]) {
    try {
      if (opened[what]) seen.push(`${what} of a window`);
    } catch {
      // as it should be
    }
  }
  try {
    if (opened.location.href !== "about:blank") seen.push(`its place: ${opened.location.href}`);
  } catch {
    // as it should be
  }
  if (!opened.closed && opened.length > 0) seen.push("its frames");
  opened.postMessage({ kind: "rating", stars: 5 }, "*");
  return seen;
};

// Streams of events from everywhere. A few sockets are enough: a browser opens them ever slower.
window.streams = (address, targets) => {
  const tries = targets.map((target) => ({
    target,
    open: (at) => new EventSource(at, { withCredentials: true }),
  }));
  for (const target of ["/", "/api/events"]) {
    tries.push({ target, open: (at) => new WebSocket(at.replace("http", "ws")) });
  }
  return each(
    tries,
    ({ target, open }) =>
      new Promise((done) => {
        const source = open(address + target);
        source.onopen = source.onmessage = () => done(`a stream from ${target}`);
        source.onerror = () => {
          source.close();
          done(null);
        };
      }),
  );
};
