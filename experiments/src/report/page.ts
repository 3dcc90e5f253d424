import { html, prose, rawHtml, type Html } from "./html.ts";
import { STYLE } from "./style.ts";

export function reportPage(
  { title, question }: { readonly title: string; readonly question: string },
  body: Html,
): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        <style>
          ${rawHtml(STYLE)}
        </style>
      </head>
      <body>
        <main>
          <h1>${title}</h1>
          <p class="question">${prose(question)}</p>
          ${body}
        </main>
      </body>
    </html> `.text;
}
