// Building of nodes. Text only ever goes in as text, so a name with angle brackets is shown, never run.

type Child = Node | string;

export function element(
  tag: string,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElement {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

export function svg(
  tag: string,
  attributes: Readonly<Record<string, string | number>> = {},
  ...children: readonly Child[]
): SVGElement {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

export function byId(id: string): HTMLElement {
  const node = document.getElementById(id);
  if (node === null) throw new Error(`the page has no element #${id}`);
  return node;
}

export function show(id: string, ...children: readonly Child[]): void {
  byId(id).replaceChildren(...children);
}

/** A number for people; a dash where there is none. */
export function figure(value: number | null | undefined, digits = 1): string {
  return value === null || value === undefined ? "–" : value.toFixed(digits);
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  let rest = value;
  while (rest >= 1000 && unit < units.length - 1) {
    rest /= 1000;
    unit++;
  }
  return `${rest.toFixed(unit === 0 ? 0 : 1)} ${units[unit]}`;
}

export function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  textColumns: readonly number[],
): HTMLElement {
  const cells = (row: readonly string[]): HTMLElement[] =>
    row.map((cell, column) => element("td", textColumns.includes(column) ? { class: "text" } : {}, cell));
  return element(
    "table",
    {},
    element(
      "thead",
      {},
      element(
        "tr",
        {},
        ...head.map((title, column) =>
          element(
            "th",
            textColumns.includes(column) ? { scope: "col", class: "text" } : { scope: "col" },
            title,
          ),
        ),
      ),
    ),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...cells(row)))),
  );
}
