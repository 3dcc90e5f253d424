import type { Clock, Fetch, FetchAnswer } from "@isochrone/runtime";
import { looseFields, parseJson } from "@isochrone/primitives";
import { AggregatorError } from "../ports/errors.ts";
import type { DecisionsAnswer, DecisionsSource } from "../http/decisions-routes.ts";
import { readBounded } from "./bounded-body.ts";

const MAX_DETAIL_CHARACTERS = 300;

interface HttpDecisionsOptions {
  /** Null: there is no scheduler-plugin. */
  readonly baseUrl: string | null;
  readonly timeoutMs: number;
  readonly clock: Clock;
  /** For example one that sends a token. @default the platform's fetch */
  readonly fetch?: Fetch;
}

export class HttpDecisions implements DecisionsSource {
  readonly #options: HttpDecisionsOptions;

  constructor(options: HttpDecisionsOptions) {
    this.#options = options;
  }

  async fetch(pathAndQuery: string, signal: AbortSignal): Promise<DecisionsAnswer> {
    const { baseUrl, timeoutMs, clock } = this.#options;
    if (baseUrl === null)
      throw new AggregatorError(
        "decisions_off",
        "no scheduler-plugin is configured (aggregator.decisionsUrl)",
      );
    const timeout = new AbortController();
    const done = new AbortController();
    void clock.sleep(timeoutMs, done.signal).then(
      () => timeout.abort(),
      () => undefined,
    );
    try {
      return await this.#ask(
        baseUrl.replace(/\/$/, "") + pathAndQuery,
        AbortSignal.any([signal, timeout.signal]),
      );
    } catch (error) {
      if (error instanceof AggregatorError) throw error;
      const why = timeout.signal.aborted ? `no answer within ${timeoutMs} ms` : "no connection";
      throw new AggregatorError(
        "decisions_unreachable",
        `the scheduler-plugin can't be reached: ${why}`,
        error,
      );
    } finally {
      done.abort();
    }
  }

  async #ask(url: string, signal: AbortSignal): Promise<DecisionsAnswer> {
    const ask: Fetch = this.#options.fetch ?? fetch;
    const response = await ask(url, { signal, redirect: "error", headers: { accept: "application/json" } });
    if (response.status === 401 || response.status === 403) {
      const why = await refusalOf(response);
      // Forwarding a 401 unchanged would blame the reader's own token.
      throw new AggregatorError(
        "decisions_unreachable",
        `the scheduler-plugin must let this aggregator in (aggregator.decisionsTokenFile, aggregator.decisionsCertFile), got ${response.status}${why}`,
      );
    }
    const contentType = response.headers.get("content-type") ?? "";
    if (!/^application\/(problem\+)?json/.test(contentType)) {
      await response.body?.cancel();
      throw new AggregatorError(
        "decisions_bad_answer",
        `the scheduler-plugin's answer must be JSON, got "${contentType.slice(0, 100)}"`,
      );
    }
    return { status: response.status, contentType, body: await readBounded(response) };
  }
}

/** Returns the scheduler-plugin's reason to refuse us, such as an expired certificate. */
async function refusalOf(response: FetchAnswer): Promise<string> {
  try {
    const { detail } = looseFields<Record<"detail", unknown>>(
      parseJson((await readBounded(response)).toString()),
    );
    return typeof detail === "string" ? ` (${detail.slice(0, MAX_DETAIL_CHARACTERS)})` : "";
  } catch {
    return "";
  }
}
