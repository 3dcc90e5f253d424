import { ProbeError } from "../errors.ts";
import type { PlanAnswer, PlanSource } from "../ports.ts";

export interface HttpPlanSourceOptions {
  /** Base URL of the aggregator. */
  readonly aggregatorUrl: string;
  readonly node: string;
  /** Bytes of the answer that are read at most. @default 1048576 */
  readonly maxBytes?: number;
  /** Milliseconds for one request. @default 5000 */
  readonly timeoutMs?: number;
}

/** Reads plans from the aggregator's graph API. */
export function createHttpPlanSource(options: HttpPlanSourceOptions): PlanSource {
  const { aggregatorUrl, node, maxBytes = 1_048_576, timeoutMs = 5000 } = options;
  const url = `${aggregatorUrl.replace(/\/+$/, "")}/api/v1/probe-plan/${encodeURIComponent(node)}`;
  return {
    async fetch(etag, signal): Promise<PlanAnswer> {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      try {
        const response = await fetch(url, {
          headers: { accept: "application/json", ...(etag === null ? {} : { "if-none-match": etag }) },
          redirect: "error",
          signal: limit,
        });
        if (response.status === 304) {
          await response.body?.cancel();
          return { kind: "unchanged" };
        }
        if (response.status !== 200) {
          await response.body?.cancel();
          throw unreachable(url, `status ${response.status}`);
        }
        const text = await readBounded(response, maxBytes, url);
        return { kind: "plan", body: parseJson(text, url), etag: response.headers.get("etag") };
      } catch (error) {
        if (error instanceof ProbeError) throw error;
        throw unreachable(url, error instanceof Error ? error.message : String(error), error);
      }
    },
  };
}

async function readBounded(response: Response, maxBytes: number, url: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    // Leaving the loop cancels the rest of the body.
    if (length > maxBytes) throw unreachable(url, `the answer must have at most ${maxBytes} bytes, got more`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString("utf8");
}

function parseJson(text: string, url: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw unreachable(url, "the answer must be JSON", error);
  }
}

function unreachable(url: string, what: string, cause?: unknown): ProbeError {
  return new ProbeError("probe_plan_unreachable", `cannot read the probe plan from ${url}: ${what}`, {
    retryable: true,
    cause,
  });
}
