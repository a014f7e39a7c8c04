"use strict";
// The form's values are the blueprint as an object; what the form cannot show stays in it. Nothing is kept on the server.
const byId = id => document.getElementById(id);
const start = JSON.parse(byId("start").textContent);
const SAVED = "clusterwright.saved", LINK = "b1.", QUIET_MS = 350;
let values = {}, figures = null, asked = 0, timer = 0, stop = null;

function headers() {
  const key = sessionStorage.getItem("clusterwright.token");
  return { "Content-Type": "application/json", ...(key ? { Authorization: "Bearer " + key } : {}) };
}

async function ask(operation, body, signal) {
  const reply = await fetch(operation, { method: "POST", headers: headers(), body: JSON.stringify(body), signal });
  if (reply.ok) return reply;
  const refused = await reply.json().catch(() => ({ error: "the planner answered " + reply.status }));
  throw Object.assign(new Error(refused.error), { help: refused.help || "", problems: refused.problems || [] });
}

const at = path => path.split(".").reduce((node, part) => (node && typeof node === "object" ? node[part] : undefined), values);

function put(path, value) {
  const parts = path.split("."), last = parts.pop(), above = [];
  let node = values;
  for (const part of parts) {
    above.push([node, part]);
    if (typeof node[part] !== "object" || node[part] === null) node[part] = {};
    node = node[part];
  }
  if (value !== undefined) { node[last] = value; return; }
  delete node[last];
  // A section that was emptied goes too, but for targets, which are there or not.
  for (const [outer, part] of above.reverse()) {
    if (Object.keys(outer[part]).length || part === "workload" || part === "targets" || outer === values.targets) break;
    delete outer[part];
  }
}

function typed(field) {
  const text = field.value.trim();
  if (!text) return undefined;
  if (text === "true" || text === "false") return text === "true";
  if (field.dataset.form === "list") return text === "any" ? text : text.split(",").map(part => part.trim()).filter(Boolean);
  return /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(text) ? Number(text) : text;
}

// Thousands of millions as people write them: 300e9.
const round = value => typeof value === "number" && value >= 1e9 && value % 1e8 === 0 ? value / 1e9 + "e9" : String(value);
const written = value => Array.isArray(value) ? value.join(", ") : value === undefined || value === null ? "" : round(value);
const active = field => { const group = field.closest("[data-kind]"); return !group || isOfKind(group); };
const isOfKind = group => group.dataset.kind.split(" ").includes(kind());
const kind = () => byId("kind").value;
const inputs = () => [...document.querySelectorAll("#form [data-path][data-form]")];

function show() {
  byId("kind").value = (values.workload || {}).kind || "train";
  for (const group of document.querySelectorAll("#form [data-kind]")) group.hidden = !isOfKind(group);
  for (const more of document.querySelectorAll("#form .fields > details")) {
    more.hidden = [...more.querySelectorAll(".field")].every(one => one.hidden);
  }
  for (const box of document.querySelectorAll("#form [data-target]")) {
    const there = Boolean(at(box.dataset.target));
    box.checked = there;
    box.closest(".group").querySelector(".fields").hidden = !there;
  }
  for (const field of inputs()) {
    const value = at(field.dataset.path);
    const simple = typeof value !== "object" || value === null || Array.isArray(value);
    field.value = active(field) && simple ? written(value) : "";
    field.disabled = !simple;
    field.title = simple ? "" : "set in the text of the blueprint";
  }
}

function place(problems) {
  for (const line of document.querySelectorAll("#form .field")) {
    line.classList.remove("bad");
    line.querySelector(".wrong").hidden = true;
    line.querySelector(":is(input, select)").removeAttribute("aria-invalid");
  }
  const rest = [];
  for (const problem of problems) {
    const field = nearest(problem.path);
    if (!field) { rest.push(problem); continue; }
    const line = field.closest(".field"), told = line.querySelector(".wrong");
    line.classList.add("bad");
    field.setAttribute("aria-invalid", "true");
    told.textContent = (told.hidden ? "" : told.textContent + " ") + problem.message + (problem.help ? " – " + problem.help : "");
    told.hidden = false;
    const folded = line.closest("details");
    if (folded) folded.open = true;
  }
  return rest;
}

// The field of a path, or of what is around it; fields of other kinds of workloads and of absent targets are not meant.
function nearest(path) {
  for (const parts = String(path).split("."); parts.length; parts.pop()) {
    const field = inputs().find(one => one.dataset.path === parts.join(".") && active(one) && !one.closest("[hidden]"));
    if (field) return field;
  }
  return null;
}

function say(words) {
  byId("notice").textContent = words;
  byId("notice").hidden = !words;
}

function told(problems, tone) {
  byId("problems").replaceChildren(...problems.map(problem => {
    const box = document.createElement("div"), line = document.createElement("p"), help = document.createElement("p");
    box.className = tone;
    line.textContent = [problem.path, problem.message].filter(Boolean).join(": ");
    help.textContent = problem.help || "";
    help.className = "help";
    box.append(line, help);
    return box;
  }));
}

async function answer() {
  const mine = ++asked, body = byId("answer");
  if (stop) stop.abort();
  stop = new AbortController();
  body.setAttribute("aria-busy", "true");
  body.classList.add("busy");
  byId("state").textContent = "Planning …";
  byId("state").hidden = false;
  try {
    const reply = await (await ask("answer", { blueprint: values }, stop.signal)).json();
    if (mine !== asked) return;
    byId("shown").innerHTML = reply.html;
    figures = reply.figures;
    told([], "");
    place(reply.findings);
    beside();
    byId("state").hidden = true;
  } catch (error) {
    if (mine !== asked || error.name === "AbortError") return;
    const rest = place(error.problems || []);
    told(error.problems && error.problems.length ? rest : [{ message: error.message, help: error.help }], "failed");
    byId("state").textContent = error.problems && error.problems.length
      ? error.problems.length + (error.problems.length > 1 ? " mistakes" : " mistake") + " in the blueprint; below is the last answer"
      : "No answer; below is the last one";
  } finally {
    if (mine === asked) {
      body.setAttribute("aria-busy", "false");
      body.classList.remove("busy");
      body.dataset.answered = String(mine);
    }
  }
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(answer, QUIET_MS);
  if (byId("as-text").open) texted();
}

async function texted() {
  const reply = await ask("write", { blueprint: values }).then(found => found.json()).catch(() => null);
  if (reply) byId("text").value = reply.text;
}

async function take(blueprint, from) {
  try {
    const reply = await (await ask("read", { blueprint })).json();
    values = reply.values;
    say(reply.left_out.length ? from + " has keys that this version does not know, which are left out: " + reply.left_out.join(", ") : "");
    show();
    if (byId("as-text").open) texted();
    answer();
  } catch (error) {
    say(from + " cannot be read: " + error.message + (error.help ? " – " + error.help : ""));
    const first = (error.problems || [])[0];
    if (first) say(from + " cannot be read: " + (first.line ? "line " + first.line + ": " : "") + first.message);
  }
}

function kept(content, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(content);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

async function through(stream, bytes) {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

async function linked() {
  const packed = await through(new CompressionStream("deflate-raw"), new TextEncoder().encode(JSON.stringify(values)));
  return LINK + btoa(String.fromCharCode(...packed)).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

async function unlinked(fragment) {
  if (!fragment.startsWith(LINK)) throw new Error("it is of another version");
  const packed = atob(fragment.slice(LINK.length).replaceAll("-", "+").replaceAll("_", "/"));
  return JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), Uint8Array.from(packed, one => one.charCodeAt(0)))));
}

const USD = new Intl.NumberFormat("en-US", { style: "currency", currency: "USD", notation: "compact", maximumSignificantDigits: 3 });

function saved() {
  try { return JSON.parse(localStorage.getItem(SAVED)); } catch { return null; }
}

// What one run and the horizon cost more or less than in the plan that was saved last.
function beside() {
  const before = saved();
  byId("changed").disabled = !before;
  if (!before || !figures) return;
  const parts = Object.entries(figures).flatMap(([target, now]) => {
    const then = (before.figures || {})[target];
    if (!then) return [target + ": new"];
    return [["run_usd", "a run"], ["horizon_usd", "horizon"]].flatMap(([key, words]) => {
      const more = now[key] - then[key];
      return now[key] === null || then[key] === null || Math.abs(more) < 0.005 * Math.abs(then[key] || 1) ? [] :
        [target + " " + words + " " + (more > 0 ? "+" : "−") + USD.format(Math.abs(more)) + " (" + (more > 0 ? "+" : "−") + Math.abs(100 * more / then[key]).toFixed(0) + " %)"];
    });
  });
  const line = document.createElement("p");
  line.className = "soft";
  line.id = "beside";
  line.textContent = parts.length ? "Against the saved plan: " + parts.join(" · ") : "As the saved plan.";
  byId("answer-lines").append(line);
}

function table(titles, rows) {
  const made = document.createElement("table");
  const line = (cells, tag) => {
    const row = document.createElement("tr");
    for (const cell of cells) {
      const box = document.createElement(tag);
      box.textContent = cell;
      row.append(box);
    }
    return row;
  };
  const scroll = document.createElement("div");
  scroll.className = "scroll";
  made.append(line(titles, "th"), ...rows.map(cells => line(cells, "td")));
  scroll.append(made);
  return scroll;
}

function element(tag, words, name) {
  const made = document.createElement(tag);
  made.textContent = words;
  if (name) made.className = name;
  return made;
}

function open(title, ...parts) {
  byId("why-title").textContent = title;
  byId("why-body").replaceChildren(...parts);
  if (!byId("why").open) byId("why").showModal();
}

function explained(entry) {
  const parts = [element("p", entry.value, "answer"), element("pre", entry.equation.join("\n"))];
  if (entry.inputs.length) parts.push(table(["Input", "Value", "From"], entry.inputs.map(one => [one.name, one.value, one.source])));
  for (const source of entry.sources) parts.push(element("p", source, "soft"));
  return parts;
}

async function why(number, target) {
  open("Where it comes from", element("p", "Looking it up …", "soft"));
  try {
    const reply = await (await ask("explain", { blueprint: values, on: target, number })).json();
    if (number) return open(reply.numbers[0].title, ...explained(reply.numbers[0]));
    return open("Every number", ...reply.numbers.map(entry => {
      const fold = document.createElement("details");
      fold.append(element("summary", entry.title + ": " + entry.value), ...explained(entry));
      return fold;
    }));
  } catch (error) {
    return open("Where it comes from", element("p", error.message), element("p", error.help || "", "help"));
  }
}

const shown = value => value === null || value === undefined ? "–" : typeof value === "number" ? value.toLocaleString("en-US", { maximumSignificantDigits: 6 }) : String(value);

async function changed() {
  open("What changed", element("p", "Planning both …", "soft"));
  try {
    const found = await (await ask("diff", { before: saved().values, blueprint: values })).json();
    if (found.same) return open("What changed", element("p", "Nothing."));
    const rows = list => list.map(one => [one.name, one.unit, shown(one.before), shown(one.after)]);
    const titles = ["What", "Unit", "Saved", "Now"];
    const parts = [];
    for (const [title, list] of [["Inputs", found.inputs], ["Work", found.work], ["Assumptions", found.assumptions]]) {
      if (list.length) parts.push(element("h3", title), table(titles, rows(list)));
    }
    for (const one of found.targets) parts.push(element("h3", one.target + (one.presence === "both" ? "" : ": " + one.presence)), table(titles, rows(one.figures)));
    return open("What changed since the saved plan", ...parts);
  } catch (error) {
    return open("What changed", element("p", error.message), element("p", error.help || "", "help"));
  }
}

byId("form").addEventListener("submit", event => event.preventDefault());
byId("form").addEventListener("change", event => {
  const field = event.target;
  if (field.dataset.target) {
    if (field.checked) put(field.dataset.target, start.targets[field.dataset.target] || {});
    else delete values.targets[field.dataset.target.split(".")[1]];
    show();
  } else if (field.id === "kind") {
    values = structuredClone(start.kinds[field.value]);
    show();
  } else if (field.dataset.path) {
    put(field.dataset.path, typed(field));
  } else return;
  soon();
});
byId("form").addEventListener("input", event => {
  const field = event.target;
  if (!field.dataset.path || field.tagName === "SELECT") return;
  put(field.dataset.path, typed(field));
  soon();
});
byId("answer").addEventListener("click", event => {
  const button = event.target.closest(".why"), link = event.target.closest(".goto");
  if (button) why(button.dataset.number, button.dataset.target);
  if (link) {
    event.preventDefault();
    const field = nearest(link.dataset.path);
    if (field) field.focus();
  }
});
byId("examples").addEventListener("change", async event => {
  const name = event.target.value;
  if (!name) return;
  const reply = await fetch("examples/" + name, { headers: headers() });
  take(await reply.text(), name);
  event.target.value = "";
});
byId("import").addEventListener("change", async event => {
  const [file] = event.target.files;
  if (file) take(await file.text(), file.name);
  event.target.value = "";
});
byId("export").addEventListener("click", async () => {
  const reply = await (await ask("write", { blueprint: values })).json();
  kept(new Blob([reply.text], { type: "application/yaml" }), (values.name || "blueprint") + ".yaml");
});
byId("build").addEventListener("click", async () => {
  say("Building every file …");
  try {
    const reply = await ask("build", { blueprint: values });
    kept(await reply.blob(), (values.name || "cluster") + ".zip");
    say("");
  } catch (error) {
    say("Nothing was built: " + error.message + (error.help ? " – " + error.help : ""));
    place(error.problems || []);
  }
});
byId("share").addEventListener("click", async () => {
  history.replaceState(null, "", "#" + await linked());
  await navigator.clipboard.writeText(location.href).then(() => say("The link is copied; it holds the whole blueprint."), () => say("The link is in the address line; it holds the whole blueprint."));
});
byId("save").addEventListener("click", () => {
  localStorage.setItem(SAVED, JSON.stringify({ values, figures }));
  say("Saved in this browser; What changed compares with it.");
  byId("changed").disabled = false;
});
byId("changed").addEventListener("click", changed);
byId("apply").addEventListener("click", () => take(byId("text").value, "The text"));
byId("as-text").addEventListener("toggle", () => { if (byId("as-text").open) texted(); });

async function named() {
  const found = await ask("names", {}).then(reply => reply.json()).catch(() => ({}));
  for (const [path, names] of Object.entries(found)) {
    const list = document.createElement("datalist");
    list.id = "n-" + path.replaceAll(".", "-");
    list.append(...names.map(name => Object.assign(document.createElement("option"), { value: name })));
    document.body.append(list);
  }
}

(async () => {
  const fragment = location.hash.slice(1);
  if (fragment.startsWith("token=")) {
    sessionStorage.setItem("clusterwright.token", decodeURIComponent(fragment.slice(6)));
    history.replaceState(null, "", location.pathname);
  }
  values = structuredClone(start.kinds.train);
  show();
  if (fragment && !fragment.startsWith("token=")) {
    try { await take(await unlinked(fragment), "The link"); } catch (error) { say("The link cannot be restored: " + error.message); answer(); }
  } else answer();
  named();
})();
