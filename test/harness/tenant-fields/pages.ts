import { CollectorTests, istioAt } from "@isochrone/collector/parsers";
import type { ServerResponse } from "node:http";
import { textOf, type Outcome, type Trials } from "./trial.ts";

const MIB = 1024 ** 2;
const LIMITS = { maxPageBytes: 16 * MIB, maxSamplesPerPage: 50_000 };
/** Long enough for a page of this size on a busy machine. */
const TIMES = { intervalMs: 20_000, timeoutMs: 10_000 };
const LINE = 1_024;
const ROWS_AT_ONCE = 1_000;
const NAME = "istio_requests_total";

export function pageTrials(): Trials {
  return {
    trials: {
      "page of a pod: size": (amount) => scraped(comments(amount)),
      "page of a pod: samples": (amount) => scraped(rows(amount)),
      "page of a pod: a line": (amount) => scraped([`${labelled(amount)}\n`, `${NAME}{a="b"} 1\n`]),
      "page of a pod: labels of a sample": (amount) => {
        const labels = Array.from({ length: amount }, (_, at) => `l${at}="v"`).join(",");
        return scraped([`${NAME}{${labels}} 1\n`, `${NAME}{a="b"} 1\n`]);
      },
    },
  };
}

function labelled(characters: number): string {
  return textOf(characters, `${NAME}{a="`, `"} 1`);
}

function* rows(count: number): Generator<string> {
  for (let at = 0; at < count; at += ROWS_AT_ONCE) {
    const length = Math.min(ROWS_AT_ONCE, count - at);
    yield Array.from({ length }, (_, each) => `${NAME}{a="${at + each}"} 1\n`).join("");
  }
}

function* comments(bytes: number): Generator<string> {
  const row = `${NAME}{a="b"} 1\n`;
  yield row;
  const comment = textOf(LINE, "#", "\n");
  let left = bytes - row.length;
  for (; left >= MIB; left -= MIB) yield comment.repeat(MIB / LINE);
  for (; left > 0; left -= LINE) yield textOf(Math.min(LINE, left), left > 1 ? "#" : "", "\n");
}

/** Scrapes the page once. Metrics name the dropped parts. */
async function scraped(parts: Iterable<string>): Promise<Outcome> {
  const tests = new CollectorTests();
  try {
    const url = await tests.serving((_request, response) => {
      response.setHeader("content-type", "text/plain; version=0.0.4");
      void write(response, parts);
    });
    const collector = await tests.run(istioAt([url]), { ...LIMITS, ...TIMES });
    const kind = { kind: "istio" };
    const scrapes = (result: string): Promise<number> =>
      collector.metric("isochrone_collector_scrapes_total", { ...kind, result });
    await collector.until(async () => (await scrapes("ok")) + (await scrapes("failed")) > 0);
    const failed = await scrapes("failed");
    const malformed = await collector.metric("isochrone_collector_malformed_lines_total", kind);
    const isCut = failed + malformed > 0;
    return { isCut, named: isCut ? `${failed} failed scrapes, ${malformed} malformed lines` : null };
  } finally {
    await tests.end();
  }
}

/** Writes as fast as the reader reads, until it disconnects. */
async function write(response: ServerResponse, parts: Iterable<string>): Promise<void> {
  for (const part of parts) {
    if (response.destroyed) return;
    if (!response.write(part))
      await new Promise<void>((resolve) => {
        const goOn = (): void => {
          response.off("drain", goOn).off("close", goOn);
          resolve();
        };
        response.once("drain", goOn).once("close", goOn);
      });
  }
  response.end();
}
