/* Progressive enhancement: every page also works without this script. */
"use strict";

(function () {
  document.documentElement.classList.add("scripted");

  /* -- times in the reader's zone ---------------------------------------------------------- */

  const shown = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
  const hour = new Intl.DateTimeFormat(undefined, { timeStyle: "short" });
  const ago = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
  const DAY = 86400000;
  const UNITS = [["year", 365 * DAY], ["month", 30 * DAY], ["week", 7 * DAY], ["day", DAY], ["hour", DAY / 24], ["minute", DAY / 1440]];

  function daysAgo(moment) {
    const begin = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
    return Math.round((begin(new Date()) - begin(moment)) / DAY);
  }

  function dayOf(moment) {
    const days = daysAgo(moment);
    if (days === 0 || days === 1) {
      const name = ago.format(-days, "day");
      return name.charAt(0).toLocaleUpperCase() + name.slice(1);
    }
    const isThisYear = moment.getFullYear() === new Date().getFullYear();
    return moment.toLocaleDateString(undefined, {
      weekday: isThisYear ? "short" : undefined, day: "numeric", month: "short",
      year: isThisYear ? undefined : "numeric",
    });
  }

  function relative(moment) {
    const passed = Date.now() - moment.getTime();
    const [unit, size] = UNITS.find(([, one]) => Math.abs(passed) >= one) || UNITS[UNITS.length - 1];
    return ago.format(-Math.trunc(passed / size), unit);
  }

  function showLocalTimes(root) {
    for (const time of root.querySelectorAll("time[datetime]:not([data-local])")) {
      const moment = new Date(time.dateTime);
      if (Number.isNaN(moment.getTime())) continue;
      time.dataset.local = "";
      time.title = exact.format(moment) + " · " + time.title;
      time.textContent = !time.closest("#found, .feed") ? shown.format(moment)
        : (time.closest("[data-days]") ? hour : { format: relative }).format(moment);
    }
  }

  /* In the order of days the first of each day names it. */
  function nameDays(root) {
    for (const list of root.querySelectorAll("ol[data-days]:not(.by-day)")) {
      const named = document.querySelectorAll("#found .day");
      let before = named.length ? named[named.length - 1].textContent : "";
      list.classList.add("by-day");
      for (const entry of list.children) {
        const day = dayOf(new Date(entry.querySelector("time").dateTime));
        if (day === before) continue;
        const name = document.createElement("span");
        name.className = "day";
        name.textContent = before = day;
        entry.prepend(name);
      }
    }
  }

  /* The days of the feed are the reader's, not the server's, whatever is added above or below. */
  function nameFeedDays() {
    for (const feed of document.querySelectorAll("[data-dated]")) {
      let before = "";
      for (const entry of feed.querySelectorAll(".feed > li")) {
        const named = entry.querySelector(".day");
        const day = dayOf(new Date((entry.querySelector("time") || { dateTime: "" }).dateTime));
        if (day === before || day === "Invalid Date") {
          if (named) named.remove();
          continue;
        }
        const name = named || document.createElement("span");
        name.className = "day";
        name.textContent = before = day;
        if (!named) entry.prepend(name);
      }
    }
  }

  /* -- days in forms begin where the reader is --------------------------------------------- */

  function nameZone(root) {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";
    for (const field of root.querySelectorAll("input[data-zone]")) field.value = zone;
  }

  function prepare(root) {
    showLocalTimes(root);
    nameDays(root);
    nameFeedDays();
    nameZone(root);
  }

  prepare(document);
  document.addEventListener("htmx:load", (event) => prepare(event.detail.elt.parentNode || document));
})();

/* -- show when the server does not answer --------------------------------------------------------- */

(function () {
  const UNREACHABLE = "The server does not answer. This page may be out of date; try again in a moment.";
  const trouble = document.getElementById("trouble");

  // The change feed has its own line for it.
  document.addEventListener("htmx:sendError", (event) => {
    if (event.detail.elt.hasAttribute("data-live") || !trouble.hidden) return;
    trouble.textContent = UNREACHABLE;
    trouble.hidden = false;
  });
  document.addEventListener("htmx:beforeOnLoad", () => { trouble.hidden = true; });
})();

/* -- after loading more, focus the first new entry ------------------------------------------------ */

document.addEventListener("htmx:afterSwap", (event) => {
  const isLost = document.activeElement === document.body;
  if (!isLost || !event.detail.requestConfig.elt.matches(".more a")) return;
  const first = event.target.querySelector("a, button, summary");
  if (first) first.focus({ preventScroll: true });
});

/* -- Memories: the question is kept in history.state, because it must not be in the URL ----------- */

(function () {
  const form = document.querySelector("form[data-search]");
  if (!form) return;
  const { q, token } = form.elements;

  // Do not show the question of a former session.
  const kept = history.state && history.state.token === token.value ? history.state.question : "";
  if (kept && !q.value) {
    q.value = kept;
    document.addEventListener("htmx:load", () => htmx.trigger(form, "submit"), { once: true });
  }
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.detail.requestConfig.elt !== form) return;
    history.replaceState({ ...history.state, question: q.value, token: token.value }, "");
  });
})();

/* -- Keys: "/" goes to the search, arrows through what is listed ---------------------------------- */

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const here = document.activeElement;
  const search = document.getElementById("q");
  const isTyping = here.matches("input, textarea, select");
  if (event.key === "/" && !isTyping) {
    event.preventDefault();
    if (search) search.select();
    else location.assign("/ui/memories#q");
    return;
  }
  const entries = [...document.querySelectorAll("#found .says")];
  const place = entries.indexOf(here);
  if (!entries.length || (here !== search && place < 0)) return;
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step) {
    event.preventDefault();
    (entries[place + step] || (place + step < 0 ? search : here)).focus();
  } else if (event.key === "Escape" && place >= 0) {
    search.focus();
  }
});
if (location.hash === "#q") document.getElementById("q")?.focus();

/* -- a menu closes when the reader goes elsewhere ------------------------------------------------ */

document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll(".rest details[open]")) {
    if (!menu.contains(event.target)) menu.open = false;
  }
});

/* -- Graph: pan and zoom by changing the viewBox ------------------------------------------------ */

(function () {
  const MOST = 8;      // times larger than the whole
  const STEP = 1.4;    // of a button or a key
  const NUDGE = 0.12;  // of what is seen, for an arrow key
  const NEAR = 0.55;   // of the whole, below which all names are shown
  const SLACK = 4;     // pixels that a finger may move and still mean a click

  class Window {
    constructor(svg) {
      this.svg = svg;
      const { x, y, width, height } = svg.viewBox.baseVal;
      this.whole = { x, y, width, height };
      this.seen = { ...this.whole };
    }

    show(x, y, width) {
      const whole = this.whole;
      width = Math.min(Math.max(width, whole.width / MOST), whole.width);
      const height = whole.height * width / whole.width;
      x = Math.min(Math.max(x, whole.x), whole.x + whole.width - width);
      y = Math.min(Math.max(y, whole.y), whole.y + whole.height - height);
      this.seen = { x, y, width, height };
      this.svg.setAttribute("viewBox", [x, y, width, height].map((n) => n.toFixed(2)).join(" "));
      // While zoomed out, a finger scrolls the page; otherwise it pans.
      this.svg.classList.toggle("zoomed", !this.isWhole);
      // Labels keep their size when zooming, so that more of them fit.
      const share = width / whole.width;
      this.svg.style.setProperty("--seen", share.toFixed(3));
      this.svg.classList.toggle("near", share < NEAR);
    }

    reset() { this.show(this.whole.x, this.whole.y, this.whole.width); }

    /* Screen to drawing coordinates; the centre by default. */
    point(clientX, clientY) {
      const matrix = this.svg.getScreenCTM();
      if (clientX === undefined || !matrix) {
        return { x: this.seen.x + this.seen.width / 2, y: this.seen.y + this.seen.height / 2 };
      }
      return new DOMPoint(clientX, clientY).matrixTransform(matrix.inverse());
    }

    zoom(factor, clientX, clientY) {
      const at = this.point(clientX, clientY);
      const wanted = this.seen.width / factor;
      const width = Math.min(Math.max(wanted, this.whole.width / MOST), this.whole.width);
      const ratio = width / this.seen.width;
      this.show(at.x - (at.x - this.seen.x) * ratio, at.y - (at.y - this.seen.y) * ratio, width);
    }

    move(across, along) { this.show(this.seen.x + across, this.seen.y + along, this.seen.width); }

    get isWhole() { return this.seen.width >= this.whole.width; }
  }

  function byKeys(view, svg) {
    svg.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const across = view.seen.width * NUDGE;
      const along = view.seen.height * NUDGE;
      const moves = {
        ArrowLeft: () => view.move(-across, 0),
        ArrowRight: () => view.move(across, 0),
        ArrowUp: () => view.move(0, -along),
        ArrowDown: () => view.move(0, along),
        "+": () => view.zoom(STEP),
        "=": () => view.zoom(STEP),
        "-": () => view.zoom(1 / STEP),
        0: () => view.reset(),
      };
      if (!(event.key in moves)) return;
      moves[event.key]();
      event.preventDefault();
    });
    // Scroll a node that gets keyboard focus into view.
    svg.addEventListener("focusin", (event) => {
      const node = event.target !== svg && event.target.querySelector("circle, rect");
      if (!node || view.isWhole) return;
      const box = node.getBBox(), seen = view.seen;
      const x = box.x + box.width / 2, y = box.y + box.height / 2;
      const isSeen = x > seen.x && x < seen.x + seen.width && y > seen.y && y < seen.y + seen.height;
      if (!isSeen) view.show(x - seen.width / 2, y - seen.height / 2, seen.width);
    });
  }

  function byPointers(view, svg) {
    const fingers = new Map();
    let moved = 0;
    const spread = () => {
      const [one, other] = [...fingers.values()];
      return {
        apart: Math.hypot(one.x - other.x, one.y - other.y) || 1,
        x: (one.x + other.x) / 2,
        y: (one.y + other.y) / 2,
      };
    };
    svg.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      if (fingers.size === 0) moved = 0;
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
    });
    svg.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      const two = fingers.size === 2 ? spread() : null;
      moved += Math.hypot(event.clientX - before.x, event.clientY - before.y);
      if (moved < SLACK && !two) return;
      svg.setPointerCapture(event.pointerId);
      svg.classList.add("moving");
      const from = view.point(before.x, before.y);
      const to = view.point(event.clientX, event.clientY);
      fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
      if (two) {
        const now = spread();
        view.zoom(now.apart / two.apart, now.x, now.y);
      } else if (fingers.size === 1) {
        view.move(from.x - to.x, from.y - to.y);
      }
    });
    const lift = (event) => {
      fingers.delete(event.pointerId);
      if (fingers.size === 0) svg.classList.remove("moving");
    };
    svg.addEventListener("pointerup", lift);
    svg.addEventListener("pointercancel", lift);
    svg.addEventListener("pointerleave", (event) => {
      if (!svg.hasPointerCapture(event.pointerId)) lift(event);
    });
    // The end of a drag is not a click.
    svg.addEventListener("click", (event) => {
      if (moved >= SLACK && event.detail > 0) event.preventDefault();
    }, true);
    svg.addEventListener("dragstart", (event) => event.preventDefault());
  }

  /* What one points at, or has the focus, stands out with all that it is related to. */
  function byNeighbours(svg) {
    const lines = [...svg.querySelectorAll("line[data-one]")];
    const nodes = [...svg.querySelectorAll("a[data-id]")];
    const show = (node) => {
      const id = node ? node.dataset.id : "";
      const near = new Set([id]);
      for (const line of lines) {
        const { one, other } = line.dataset;
        const isIts = one === id || other === id;
        line.classList.toggle("lit", isIts);
        if (isIts) near.add(one).add(other);
      }
      for (const each of nodes) each.classList.toggle("lit", near.has(each.dataset.id));
      svg.classList.toggle("asked", Boolean(node));
    };
    const of = (event) => event.target.closest("a[data-id]");
    svg.addEventListener("pointerover", (event) => show(of(event)));
    svg.addEventListener("pointerleave", () => show(null));
    svg.addEventListener("focusin", (event) => show(of(event)));
    svg.addEventListener("focusout", () => show(null));
  }

  function prepare(panel) {
    const svg = panel.querySelector("svg.drawing");
    const view = new Window(svg);
    const steps = {
      in: () => view.zoom(STEP),
      out: () => view.zoom(1 / STEP),
      reset: () => view.reset(),
    };
    for (const button of panel.querySelectorAll("[data-zoom]")) {
      button.addEventListener("click", steps[button.dataset.zoom]);
    }
    svg.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;  // the wheel alone scrolls the page
      event.preventDefault();
      view.zoom(Math.exp(-event.deltaY / 300), event.clientX, event.clientY);
    }, { passive: false });
    byNeighbours(svg);
    byKeys(view, svg);
    byPointers(view, svg);
  }

  for (const panel of document.querySelectorAll("[data-panzoom]")) prepare(panel);
})();

/* -- Settings: only the fields that the chosen provider takes ----------------------------------- */

(function () {
  const form = document.querySelector("form[data-embedding]");
  if (!form) return;
  const provider = form.elements.provider;
  const remote = form.querySelector("[data-remote-only]");
  const answer = form.querySelector("[role=status]");

  function show() {
    const chosen = provider.selectedOptions[0].dataset;
    const isRemote = "remote" in chosen;
    remote.hidden = !isRemote;
    for (const field of remote.querySelectorAll("input")) field.disabled = !isRemote;
    form.elements.model.placeholder = chosen.model || "";
    form.elements.base_url.placeholder = chosen.address || "";
    form.elements.api_key.placeholder = "needsKey" in chosen ? "required" : "if required";
  }

  /* Link the field that a message is about to the message. */
  function mark() {
    const problem = answer.querySelector("[data-field]");
    for (const field of form.querySelectorAll("[aria-describedby]")) {
      const isWrong = problem !== null && field.name === problem.dataset.field;
      const hint = field.id + "-hint";
      field.setAttribute("aria-describedby", isWrong ? hint + " " + problem.id : hint);
      if (isWrong) field.setAttribute("aria-invalid", "true");
      else field.removeAttribute("aria-invalid");
    }
  }

  provider.addEventListener("change", show);
  answer.addEventListener("htmx:afterSettle", mark);
  /* A message is outdated once the form changes. */
  form.addEventListener("input", () => { answer.replaceChildren(); mark(); });
  show();
})();

/* -- Keys: copying a new one -------------------------------------------------------------------- */

document.addEventListener("click", (event) => {
  const button = event.target.closest("button[data-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.copy);
  getSelection().selectAllChildren(text);
  /* Browsers allow it only in secure contexts; elsewhere the key stays selected. */
  const copied = navigator.clipboard ? navigator.clipboard.writeText(text.textContent) : Promise.reject();
  copied.then(() => { button.textContent = "Copied"; }, () => { button.textContent = "Selected: copy it now"; });
});

/* -- the live feed of changes ---------------------------------------------------------------- */

(function () {
  const status = document.getElementById("feed-status");
  if (!status) return;
  const button = document.querySelector("[data-pause]");
  let paused = false;

  const isLive = (event) => event.detail.elt.hasAttribute("data-live");

  button.addEventListener("click", () => {
    paused = !paused;
    button.setAttribute("aria-pressed", String(paused));
    button.textContent = paused ? "Resume" : "Pause";
    status.textContent = paused ? "Paused" : "";
  });

  // Do not poll in background tabs.
  document.addEventListener("htmx:beforeRequest", (event) => {
    if (isLive(event) && (paused || document.hidden)) event.preventDefault();
  });

  // Show errors in a line; the feed keeps polling.
  const FAILED = "The server does not answer; trying again";
  const showFailure = () => { if (status.textContent !== FAILED) status.textContent = FAILED; };
  document.addEventListener("htmx:beforeSwap", (event) => {
    if (!isLive(event)) return;
    if (event.detail.xhr.status < 400) {
      if (status.textContent === FAILED) status.textContent = "";
      return;
    }
    event.detail.shouldSwap = false;
    showFailure();
  });
  document.addEventListener("htmx:sendError", (event) => {
    if (isLive(event)) showFailure();
  });
})();
