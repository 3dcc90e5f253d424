// An HTML fragment. All other text is escaped.

export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }

  toString(): string {
    return this.text;
  }
}

type Part = Html | string | number | null | readonly Part[];

/** Template tag that escapes values, joins lists and omits null. */
export function html(strings: TemplateStringsArray, ...values: readonly Part[]): Html {
  return new Html(
    strings.map((text, index) => text + (index < values.length ? shown(values[index]!) : "")).join(""),
  );
}

function shown(value: Part): string {
  if (value === null) return "";
  if (value instanceof Html) return value.text;
  if (typeof value === "object") return value.map(shown).join("");
  return escape(String(value));
}

function escape(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replaceAll('"', "&quot;");
}

export function rawHtml(text: string): Html {
  return new Html(text);
}

const LONG = 44;
/** Row names may wrap earlier, because every row has one. */
const LONG_NAME = 20;

function isLong(value: Part, most = LONG): boolean {
  return (typeof value === "string" || value instanceof Html) && value.toString().length > most;
}

/** Table with a caption above and row names in the first column. Wide tables scroll. */
export function table(caption: string, head: readonly string[], rows: readonly (readonly Part[])[]): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}">
    <table>
      <caption>
        <span>${caption}</span>
      </caption>
      <thead>
        <tr>
          ${head.map((text) => html`<th scope="col">${text}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          ([first = "", ...others]) =>
            html`<tr>
              <th scope="row" ${isLong(first, LONG_NAME) ? html` class="long"` : null}>${first}</th>
              ${others.map((value) => html`<td${isLong(value) ? html` class="long"` : null}>${value}</td>`)}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`;
}

export function facts(rows: readonly (readonly [string, Part])[]): Html {
  return html`<dl>
    ${rows.map(
      ([name, value]) =>
        html`<dt>${name}</dt>
          <dd>${value}</dd> `,
    )}
  </dl>`;
}

/** Text of scenarios, with code in backticks. */
export function prose(text: string): Html {
  return html`${text.split("`").map((part, index) => (index % 2 === 1 ? html`<code>${part}</code>` : part))}`;
}

export function details(summary: string, content: Html): Html {
  return html`<details>
    <summary>${summary}</summary>
    ${content}
  </details>`;
}
