"use strict";
// What the page does by itself. The viewer's changes live here and go to the server whole, one move at a time: while a
// move is answered, the next ones replace each other, so the page never lags behind by more than one.
(() => {
  const TRIED_S = 60;
  const dash = () => window.dash_clientside;
  const put = (id, props) => dash().set_props(id, props);
  const knobId = (name) => ({ kind: name in viewer.base.positions ? "knob" : "choice", of: name });

  const viewer = { base: null, shown: {}, written: {}, removed: [], added: [], touched: new Set(), move: null,
    waiting: null, since: null, began: 0, opening: false, undrawn: [] };

  const say = (text) => put("status", { children: text });

  // One value of a knob is shown twice: in its field, and as the slider's position.
  const nearest = (positions, text) => {
    const word = positions.indexOf(text);
    if (word >= 0) return word;
    const value = Number.parseFloat(text);
    if (!Number.isFinite(value)) return null;
    let best = 0;
    positions.forEach((position, i) => {
      if (Math.abs(position - value) < Math.abs(positions[best] - value)) best = i;
    });
    return best;
  };

  const isAdded = (event) => event.includes("@");

  const element = (id) => document.getElementById(JSON.stringify(id, Object.keys(id).sort()));

  const send = (move) => {
    viewer.waiting = null;
    viewer.since = performance.now();
    put("move", { data: move });
    put("poll", { disabled: false });
    setTimeout(() => { if (viewer.since !== null) say("Simulating ..."); }, 400);
  };

  const ask = (move) => {
    viewer.began = performance.now();
    const late = viewer.since !== null && performance.now() - viewer.since > TRIED_S * 1000;
    if (viewer.since === null || late) send(move);
    else viewer.waiting = move;
  };

  const write = (name, text) => {
    viewer.written[name] = viewer.shown[name] = text;
    if (text === "") viewer.touched.delete(name);
    else viewer.touched.add(name);
  };

  const moved = () => {
    const { base, written, removed, added, touched } = viewer;
    // A rate or a wait of its own means the queue that the command then has by default: the queue's own value counts.
    const held = touched.has("nop_rate") || touched.has("nop_wait_s");
    const knobs = {};
    for (const name of touched) {
      const own = name === "nop_queue" && held;
      if (name in written && (own || written[name] !== base.present[name])) knobs[name] = written[name];
    }
    const move = { source: base.source, knobs, removed, added };
    const text = JSON.stringify(move);
    if (text === viewer.move) return "";
    viewer.move = text;
    ask(move);
    return text;
  };

  // A slider asks at once: through its field, as the page is wired, it would ask a tenth of a second later.
  addEventListener("input", ({ target }) => {
    if (target.type !== "range" || !target.id.startsWith("{") || !viewer.base?.positions) return;
    const { of } = JSON.parse(target.id);
    if (!viewer.base.positions[of] || !(of in viewer.written)) return;
    write(of, String(viewer.base.positions[of][target.value]));
    speak(of);
    moved();
  }, true);

  // A field waits for the next key; Enter, or leaving it, says that there is none.
  addEventListener("change", ({ target }) => {
    if (target.type === "text" && target.id.startsWith("{")) put(JSON.parse(target.id), { value: target.value });
  }, true);

  const recoloured = (figure, colours, scheme) => {
    let text = JSON.stringify(figure);
    if (scheme === "dark") {
      for (const [role, colour] of Object.entries(colours.light)) text = text.replaceAll(colour, colours.dark[role]);
    }
    return JSON.parse(text);
  };

  const inView = (id) => {
    const box = element(id)?.getBoundingClientRect();
    return Boolean(box) && box.bottom > 0 && box.top < innerHeight;
  };

  // Charts out of view are drawn afterwards, one per frame; those that another answer overtakes not at all.
  const later = (ids, figure) => {
    const running = viewer.undrawn.length > 0;
    viewer.undrawn = ids.map((id) => [id, figure]);
    if (!running) drawNext();
  };
  const drawNext = () => requestAnimationFrame(() => setTimeout(() => {
    const next = viewer.undrawn.shift();
    if (!next) return;
    const [id, figure] = next;
    if (element(id)) put(id, { figure: figure(id) });
    if (viewer.undrawn.length) drawNext();
  }));

  const mark = (name, message) => {
    for (const id of [knobId(name), { kind: "slider", of: name }]) {
      const control = element(id);
      if (!control || control.tagName !== "INPUT") continue;
      control.setAttribute("aria-invalid", message ? "true" : "false");
      const about = JSON.stringify({ kind: "message", of: name }, ["kind", "of"]);
      control.setAttribute("aria-describedby", about);
    }
  };

  const speak = (name) => {
    const slider = element({ kind: "slider", of: name });
    const text = viewer.shown[name];
    const unit = Number.isFinite(Number.parseFloat(text)) ? viewer.base.units[name] : "";
    if (slider) slider.setAttribute("aria-valuetext", `${text} ${unit}`.trim());
  };

  const functions = {
    slide(text, position, base, id) {
      const same = dash().no_update;
      const positions = base && base.positions && base.positions[id.of];
      if (!positions) return [same, same];
      const byHand = dash().callback_context.triggered.some((each) => each.prop_id.includes('"kind":"slider"'));
      const now = nearest(positions, String(text ?? "").trim());
      if (byHand) return now === position ? [same, same] : [String(positions[position]), same];
      return [same, now === null || now === position ? same : now];
    },

    open(source) {
      viewer.opening = true;
      put("event-refused", { children: "" });
      viewer.began = performance.now();
      viewer.undrawn = [];
      put("poll", { disabled: false });
      say("Simulating the present setting ...");
      return source;
    },

    gather(fields, choices, kept, base, fieldIds, choiceIds, events) {
      if (!base) return "";
      if (viewer.base !== base) {
        viewer.base = base;
        viewer.opening = false;
        viewer.move = viewer.waiting = viewer.since = null;
        if (base.broken) {
          put("poll", { disabled: true });
          say("This cannot be opened.");
          return "";
        }
        viewer.shown = { ...base.start };
        viewer.touched = new Set(Object.keys(base.start).filter((name) => base.start[name] !== base.present[name]));
      }
      if (base.broken) return "";
      const written = {};
      fieldIds.forEach((id, i) => { written[id.of] = String(fields[i] ?? "").trim(); });
      choiceIds.forEach((id, i) => { written[id.of] = choices[i] ?? ""; });
      if (Object.keys(written).some((name) => !(name in base.start))) return "";
      viewer.written = written;
      for (const [name, text] of Object.entries(written)) if (text !== viewer.shown[name]) write(name, text);
      const known = (events || []).map((event) => event.value);
      viewer.removed = known.filter((value) => !isAdded(value) && !kept.includes(value)).map(Number);
      viewer.added = kept.filter(isAdded);
      return moved();
    },

    draw(answer, scheme, colours, chartIds, messageIds, fileIds) {
      const same = dash().no_update;
      const keep = (ids) => ids.map(() => same);
      if (!answer || !viewer.base || answer.move.source !== viewer.base.source) {
        return [keep(chartIds), keep(messageIds), keep(fileIds), keep(fileIds)];
      }
      if (dash().callback_context.triggered.some((each) => each.prop_id === "answer.data")) arrived(answer);
      const messages = messageIds.map((id) => answer.messages[id.of] || "");
      messageIds.forEach((id, i) => mark(id.of, messages[i]));
      if (!answer.charts) return [keep(chartIds), messages, keep(fileIds), fileIds.map(() => true)];
      const figure = (id) => recoloured(answer.charts[id.of], colours, scheme);
      const known = chartIds.filter((id) => answer.charts[id.of]);
      const first = new Set(known.filter(inView));
      later(known.filter((id) => !first.has(id)), figure);
      const charts = chartIds.map((id) => first.has(id) ? figure(id) : same);
      const query = encodeURIComponent(JSON.stringify(answer.move));
      return [
        charts, messages, fileIds.map((id) => `/setting/${id.of}?move=${query}`),
        fileIds.map((id) => !answer.files.includes(id.of)),
      ];
    },

    reset(clicks, base) {
      if (!clicks || !base || !base.present) return "";
      viewer.touched.clear();
      viewer.shown = { ...base.present };
      for (const [name, text] of Object.entries(base.present)) put(knobId(name), { value: text });
      return String(clicks);
    },

    use(clicks, best) {
      if (!clicks || !best) return "";
      for (const [name, text] of Object.entries(best)) put(knobId(name), { value: text });
      return String(clicks);
    },

    say(text) {
      const waited = Math.round((performance.now() - viewer.began) / 1000);
      if (text && (viewer.opening || viewer.since !== null)) say(`${text} (${waited} s so far)`);
      return "";
    },

    unit(kind, kinds) {
      const value = kinds[kind];
      return value ? `Value: ${value}` : "Value (none for this kind)";
    },

    buttons: (options) => (options || []).filter(({ value }) => isAdded(value)).map(({ label, value }) => ({
      namespace: "dash_html_components",
      type: "Button",
      props: { id: { kind: "away", of: value }, type: "button", children: `Take away: ${label}` },
    })),

    away(clicks, options, kept) {
      const same = dash().no_update;
      const pressed = dash().callback_context.triggered.find((each) => each.value);
      if (!pressed) return [same, same];
      const { of } = JSON.parse(pressed.prop_id.slice(0, pressed.prop_id.lastIndexOf(".")));
      // The button goes too: who pressed it by a key goes on from the form.
      document.getElementById("event-add").focus({ preventScroll: true });
      return [options.filter(({ value }) => value !== of), kept.filter((value) => value !== of)];
    },

    nothing: (options) => (options || []).length > 0,
  };

  const arrived = (answer) => {
    const took = Math.round(performance.now() - viewer.began);
    viewer.since = null;
    put("poll", { disabled: true });
    if (viewer.waiting !== null) {
      send(viewer.waiting);
      return;
    }
    if (!answer.charts) {
      const what = answer.messages.events ? "an event breaks a rule, see Events" : "a value breaks a rule";
      say(`Not simulated: ${what}. The curves are those of the last setting that kept all rules.`);
      return;
    }
    // Knobs that nobody has touched follow from others: show what the storm was run with.
    for (const name of Object.keys(viewer.shown)) {
      const text = answer.setting[name] ?? (name in viewer.base.positions ? "" : viewer.base.present[name]);
      const written = element(knobId(name)) === document.activeElement;
      if (!viewer.touched.has(name) && text !== viewer.shown[name] && !written) {
        viewer.shown[name] = text;
        put(knobId(name), { value: text });
      }
      speak(name);
    }
    say(`${answer.headline} (${answer.storms} storms each, answered in ${took} ms)`);
  };

  const wide = matchMedia("(prefers-color-scheme: dark)");
  const scheme = () => {
    if (window.dash_clientside?.set_props && document.getElementById("status")) {
      put("scheme", { data: wide.matches ? "dark" : "light" });
    } else setTimeout(scheme, 50);
  };
  wide.addEventListener("change", scheme);
  scheme();

  window.dash_clientside = Object.assign({}, window.dash_clientside, { signalstorm: functions });
})();
