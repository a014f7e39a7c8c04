"use strict";
// The amounts are sums of terms, so that every figure is that of the cash flow; a value without an amount is not offered.
(() => {
  const data = JSON.parse(document.getElementById("what-if-data").textContent);
  const byId = id => document.getElementById(id);
  const levers = data.levers, at = {}, START = "#what-if;";
  const RENT = 1, POWER = 2, RESALE = 4;

  const value = id => (at[id] === undefined ? data.base[id] : levers.find(one => one.id === id).values[at[id]]);
  const place = id => (at[id] === undefined ? 0 : at[id]);

  function amount(column, where) {
    if (typeof column === "number") return column;
    return column.length === 2 ? column[0] + column[1] * where.worked : column[where.work];
  }

  function costs(where) {
    return data.ways.map((name, number) => {
      const [terms, bills, fits] = data.amounts[where.horizon][number];
      const sum = which => terms.reduce(
        (total, term) => total + amount(term[which], where)
          * (term[0] & RENT ? where.rent : 1) * (term[0] & POWER ? where.power : 1) * (term[0] & RESALE ? where.resale : 1),
        bills ? bills[which - 1][where.work][where.rentPlace] : 0);
      const known = !fits || fits[where.work] === "1";
      return { name, number, present: known ? sum(1) : null, paid: known ? sum(2) : null };
    });
  }

  function position(move) {
    const get = move ? value : id => data.base[id], put = move ? place : id => (data.places[id] === undefined ? 0 : data.places[id]);
    const horizon = put("horizon");
    return {
      horizon, work: put(data.work), worked: get(data.work) / data.base[data.work], rent: get("rent"), rentPlace: put("rent"),
      power: data.base.power ? get("power") / data.base.power : 1,
      // Nothing is sold for more than it cost.
      resale: data.shares[horizon] ? Math.min(get("resale"), 1 / data.shares[horizon]) : 1,
    };
  }

  function money(amounts) {
    const rounded = amounts.map(usd => (usd === null ? 0 : Number(Math.abs(usd / data.money.usd).toPrecision(3))));
    const million = Math.max(...rounded) >= 1e6;
    return amounts.map((usd, number) => {
      if (usd === null) return "cannot do this work";
      const shown = rounded[number] / (million ? 1e6 : 1);
      const digits = million ? Math.max(0, 2 - (shown ? Math.floor(Math.log10(shown)) : 0)) : shown < 100 ? 2 : 0;
      const text = shown.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
      return (usd < 0 && shown ? "-" : "") + data.money.sign + text + (million ? " M" : "");
    });
  }

  const signed = text => (/[1-9]/.test(text) ? text.replace(/^(?!-)/, "+") : "–");
  const brief = number => String(Number(number.toPrecision(10)));
  const valueShown = lever => lever.texts[at[lever.id]]
    + (lever.id === "resale" ? ": " + Number((100 * data.shares[place("horizon")] * position(true).resale).toFixed(1)) + " % of the price" : "");

  function command() {
    const parts = [];
    for (const lever of levers) {
      if (at[lever.id] === lever.base && !(lever.id === "runs" && at.horizon !== data.places.horizon)) continue;
      if (lever.id === "runs") parts.push(...lever.sets, "economics.runs=" + brief(data.runs[place("horizon")] * value("runs") / data.base.runs));
      else if (lever.id === "resale") parts.push(...lever.sets, "tco.owner.resale_fraction=" + brief(data.shares[place("horizon")] * position(true).resale));
      else if (lever.sets.length) parts.push(...lever.sets[at[lever.id]]);
    }
    return "clusterwright compare BLUEPRINT" + parts.map(part => " --set '" + part + "'").join("");
  }

  function row(cost, words) {
    const line = document.createElement("tr");
    words.forEach((text, column) => {
      const cell = document.createElement("td");
      cell.textContent = text;
      cell.dataset.title = data.columns[column];
      if (column) cell.className = "number";
      line.append(cell);
    });
    line.dataset.way = cost.number;
    if (cost.present !== null) Object.assign(line.dataset, { present: cost.present, paid: cost.paid });
    return line;
  }

  const planned = costs(position(false));

  function show() {
    for (const lever of levers) {
      const field = byId("what-if-" + lever.id), text = valueShown(lever);
      field.value = at[lever.id];
      field.setAttribute("aria-valuetext", text);
      byId("what-if-" + lever.id + "-value").textContent = text;
    }
    const found = costs(position(true)).sort((one, other) =>
      (one.present === null) - (other.present === null) || one.present - other.present || one.number - other.number);
    const present = money(found.map(cost => cost.present)), paid = money(found.map(cost => cost.paid));
    const known = found.filter(cost => cost.present !== null);
    const change = money(found.map(cost => (cost.present === null || planned[cost.number].present === null ? 0 : cost.present - planned[cost.number].present)));
    byId("what-if-rows").replaceChildren(...found.map((cost, number) => row(cost, [
      cost.name, present[number], signed(change[number]), cost.present === null ? "–" : paid[number]])));
    const next = known.length > 1 ? "; next " + known[1].name.replace(/^On /, "on ") + ", " + present[1] : "";
    const answer = known.length
      ? known[0].name + " costs least" + data.among + " over " + value("horizon") + " months: " + present[0] + " in present value" + next + "."
      : "No way can do this work.";
    // Amounts stay on one line.
    byId("what-if-answer").textContent = answer.replace(/(?<=\d) M\b/g, "\u00a0M");
    byId("what-if-command").textContent = command();
  }

  function keep() {
    const moved = levers.filter(lever => at[lever.id] !== lever.base).map(lever => lever.id + "=" + lever.values[at[lever.id]]);
    try { history.replaceState(null, "", moved.length ? START + moved.join(";") : "#what-if"); } catch { /* no address of its own */ }
    byId("what-if-lost").hidden = true;
  }

  function reset() { for (const lever of levers) at[lever.id] = lever.base; }

  function plain(text) {
    try { return decodeURIComponent(text); } catch { return text; }
  }

  function restore() {
    if (!location.hash.startsWith(START)) return;
    reset();
    const lost = [];
    for (const part of plain(location.hash.slice(START.length)).split(";").slice(0, 20)) {
      const [id, text] = part.split("="), lever = levers.find(one => one.id === id);
      const wanted = text ? Number(text) : NaN, step = lever ? lever.values.findIndex(one => Math.abs(one - wanted) <= 1e-9 * Math.abs(one)) : -1;
      if (step < 0) lost.push(part.slice(0, 60)); else at[id] = step;
    }
    byId("what-if-lost").hidden = !lost.length;
    byId("what-if-lost").textContent = lost.length ? "The link has values that this report does not have: " + lost.join(", ") + "." : "";
    show();
    byId("what-if").scrollIntoView();
  }

  reset();
  for (const lever of levers) {
    byId("what-if-" + lever.id).addEventListener("input", event => {
      at[lever.id] = Number(event.target.value);
      show();
      keep();
    });
  }
  byId("what-if-reset").addEventListener("click", () => { reset(); show(); keep(); });
  window.addEventListener("hashchange", restore);
  for (const part of document.querySelectorAll("[data-script]")) part.hidden = false;
  show();
  restore();
})();
