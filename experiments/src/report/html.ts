// Text to HTML. What stands in results and scenarios is text: only `Html` goes in as it is.

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

/** A template whose values are escaped; lists are joined, null is nothing. */
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

/** Longer ones may be broken into lines. */
const LONG = 44;

function isLong(value: Part): boolean {
  return (typeof value === "string" || value instanceof Html) && value.toString().length > LONG;
}

/** `caption` is said above; the first column names the row. Wide ones scroll in their own box. */
export function table(caption: string, head: readonly string[], rows: readonly (readonly Part[])[]): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="${caption}">
    <table>
      <caption>
        ${caption}
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
              <th scope="row" ${isLong(first) ? html` class="long"` : null}>${first}</th>
              ${others.map((value) => html`<td${isLong(value) ? html` class="long"` : null}>${value}</td>`)}
            </tr> `,
        )}
      </tbody>
    </table>
  </div>`;
}

export function details(summary: string, content: Html): Html {
  return html`<details>
    <summary>${summary}</summary>
    ${content}
  </details>`;
}
