import { html } from "./html.ts";
import type { Html } from "./html.ts";

export function marker(contender: string, x: number, y: number): Html {
  const at = (dx: number, dy: number): string => `${(x + dx).toFixed(1)} ${(y + dy).toFixed(1)}`;
  switch (contender) {
    case "default":
      return html`<path class="mark" d="M${at(-3.2, -3.2)}h6.4v6.4h-6.4z" />`;
    case "paper":
      return html`<path class="mark" d="M${at(0, -4)}L${at(3.8, 3)}L${at(-3.8, 3)}z" />`;
    case "paper-scaled":
      return html`<path class="mark hollow" d="M${at(0, -4.5)}L${at(4.2, 3)}L${at(-4.2, 3)}z" />`;
    case "affinity":
      return html`<path class="mark" d="M${at(0, 4)}L${at(3.8, -3)}L${at(-3.8, -3)}z" />`;
    case "upstream":
      return html`<path class="mark" d="M${at(0, -4.2)}L${at(4.2, 0)}L${at(0, 4.2)}L${at(-4.2, 0)}z" />`;
    case "optimum":
      return html`<path
        class="cross"
        d="M${at(-3.5, -3.5)}L${at(3.5, 3.5)}M${at(3.5, -3.5)}L${at(-3.5, 3.5)}"
      />`;
    case "null":
      return html`<path class="cross" d="M${at(-3.8, 0)}h7.6M${at(0, -3.8)}v7.6" />`;
    default:
      return html`<circle class="mark" cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="3.5" />`;
  }
}

/** @param reference meaning of dashed lines; null: none. @param lookOf contender whose look is used */
export function legend(
  contenders: readonly string[],
  reference: string | null,
  lookOf: (contender: string) => string = (contender) => contender,
): Html {
  return html`<ul class="legend">
    ${contenders.map(
      (contender) =>
        html`<li>
          <svg viewBox="0 0 28 12" aria-hidden="true">
            <g class="series c-${lookOf(contender)}">
              <polyline points="1,6 27,6" />
              ${marker(lookOf(contender), 14, 6)}
            </g></svg
          >${contender}
        </li>`,
    )}${
      reference === null
        ? null
        : html`<li>
            <svg viewBox="0 0 28 12" aria-hidden="true"><polyline class="reference" points="1,6 27,6" /></svg
            >${reference}
          </li>`
    }
  </ul>`;
}
