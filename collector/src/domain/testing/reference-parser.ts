// A simple parser of valid pages by regular expressions, and a generator of such pages, to compare with the
// byte parser.
import * as fc from "fast-check";
import type { PageFormat } from "../exposition.ts";
import type { ReadSample } from "./read-page.ts";

const LINE =
  /^[ \t]*(?<name>[a-zA-Z_:][a-zA-Z0-9_:]*)[ \t]*(?:\{(?<labels>(?:[^"}]|"(?:[^"\\]|\\.)*")*)\})?[ \t]*(?<value>[^ \t]+)(?:[ \t]+(?<time>[^ \t#]+))?[ \t]*(?:#.*)?$/u;
const PAIR = /[ \t]*(?<name>[a-zA-Z_][a-zA-Z0-9_]*)[ \t]*=[ \t]*"(?<value>(?:[^"\\]|\\.)*)"[ \t]*,?/gu;

export function referenceSamples(text: string, format: PageFormat): ReadSample[] {
  return text
    .split("\n")
    .map((line) => line.replace(/\r$/, ""))
    .filter((line) => line.trim() !== "" && !line.trimStart().startsWith("#"))
    .map((line) => {
      const { name, labels, value, time } = LINE.exec(line)!.groups!;
      return {
        name: name!,
        labels: Object.fromEntries(
          [...(labels ?? "").matchAll(PAIR)].map(({ groups }) => [
            groups!["name"]!,
            unescaped(groups!["value"]!),
          ]),
        ),
        value: numberOf(value!),
        timestampMs: time === undefined ? null : Number(time) * (format === "text" ? 1 : 1000),
      };
    });
}

function unescaped(text: string): string {
  return text.replace(/\\(["n\\])/g, (_, escape: string) => (escape === "n" ? "\n" : escape));
}

function numberOf(text: string): number {
  if (/^nan$/i.test(text)) return NaN;
  const infinite = /^([+-]?)inf(inity)?$/i.exec(text);
  if (infinite !== null) return infinite[1] === "-" ? -Infinity : Infinity;
  return Number(text);
}

const blank = fc.constantFrom("", "", "", " ", "\t", "  ");
const labelName = fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_]{0,8}$/).filter((name) => name !== "__proto__");
const labelText = fc
  .string({ maxLength: 20, unit: fc.constantFrom(...Array.from('abcXYZ019/.-_{}=, \\"\né€\u{1f30d}#')) })
  .map((text) => text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("\n", "\\n"));
const numberText = fc.oneof(
  fc.double().map((value) => (value === Infinity ? "+Inf" : value === -Infinity ? "-Inf" : String(value))),
  fc.nat().map(String),
  fc.constantFrom(
    "+1",
    "1.",
    ".5",
    "-.5e-3",
    "1E10",
    "00012.50",
    "NaN",
    "-Inf",
    "123456789012345678901234567890",
    "1e400",
  ),
);

const labels = fc.oneof(
  fc.constantFrom("", "{}", "{ }"),
  fc
    .tuple(
      fc.uniqueArray(fc.tuple(labelName, labelText), {
        minLength: 1,
        maxLength: 6,
        selector: ([name]) => name,
      }),
      blank,
      fc.constantFrom("", "", ","),
    )
    .map(
      ([pairs, space, end]) =>
        `{${pairs.map(([name, value]) => `${space}${name}${space}=${space}"${value}"${space}`).join(",")}${end}${space}}`,
    ),
);

function sampleLine(format: PageFormat): fc.Arbitrary<string> {
  const time =
    format === "text"
      ? fc.integer({ min: 0, max: 2e12 })
      : fc.integer({ min: 0, max: 2e9 }).map((ms) => ms / 8);
  return fc
    .tuple(
      fc.constantFrom("up", "up_total", "istio_requests_total", "a:b", "_x"),
      labels,
      numberText,
      fc.option(time, { nil: null }),
      blank,
      fc.boolean(),
    )
    .map(([name, set, value, at, space, exemplar]) => {
      const tail = exemplar && format === "openmetrics" ? ' # {trace_id="a} 1"} 0.5' : "";
      return `${space}${name}${set} ${space}${value}${at === null ? "" : ` ${at}`}${tail}${space}`;
    });
}

export const anyPage: fc.Arbitrary<{ readonly text: string; readonly format: PageFormat }> = fc
  .constantFrom<PageFormat>("text", "openmetrics")
  .chain((format) =>
    fc
      .array(
        fc.oneof(
          { weight: 5, arbitrary: sampleLine(format) },
          fc.constantFrom("# HELP up Is it?", "# TYPE up gauge", "", "#", "# TYPE", "# UNIT x s"),
        ),
        { maxLength: 30 },
      )
      .map((lines) => ({
        format,
        text: `${lines.join("\n")}\n${format === "openmetrics" ? "# EOF\n" : ""}`,
      })),
  );

export function chunked(page: string | Uint8Array, sizes: Iterable<number>): Uint8Array[] {
  const bytes = Buffer.from(page);
  const chunks: Uint8Array[] = [];
  let at = 0;
  for (const size of sizes) {
    if (at >= bytes.length) break;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}
