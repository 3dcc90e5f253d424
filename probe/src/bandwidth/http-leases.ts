import { boundedBody } from "@isochrone/runtime";
import type { Fetch, FetchAnswer } from "@isochrone/runtime";
import { isRecord, looseFields, parseJson, reasonOf, type LooseFields } from "@isochrone/primitives";
import { ProbeError } from "../ports/errors.ts";
import type { BandwidthLease, BandwidthLeases } from "../ports/ports.ts";

const RETRYABLE_STATUSES = new Set([408, 425, 429]);
const MAX_BODY_BYTES = 65_536;
/** Upper bounds on a lease, whatever it says. */
const MAX_LEASE_MS = 600_000;
const MAX_LEASE_BYTES = 1e12;
const MAX_RETRY_AFTER_MS = 3_600_000;

interface HttpLeasesOptions {
  readonly aggregatorUrl: string;
  readonly timeoutMs?: number;
  readonly fetch?: Fetch | undefined;
}

export function createHttpLeases(options: HttpLeasesOptions): BandwidthLeases {
  const { aggregatorUrl, timeoutMs = 5000 } = options;
  const ask: Fetch = options.fetch ?? fetch;
  const url = `${aggregatorUrl.replace(/\/+$/, "")}/api/v1/bandwidth-leases`;
  return {
    async acquire(node, signal) {
      const limit = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
      try {
        const response = await ask(url, {
          method: "POST",
          headers: { "content-type": "application/json", accept: "application/json" },
          body: JSON.stringify({ node }),
          redirect: "error",
          signal: limit,
        });
        const text = await readAnswer(response, url);
        if (response.status !== 200) throw refused(url, response.status, text);
        return parseAnswer(text, url);
      } catch (error) {
        if (error instanceof ProbeError) throw error;
        throw unreachable(url, reasonOf(error), true, error);
      }
    },
    async release({ id }) {
      try {
        const signal = AbortSignal.timeout(timeoutMs);
        const response = await ask(`${url}/${encodeURIComponent(id)}`, { method: "DELETE", signal });
        await response.body?.cancel();
      } catch {
        // An unreturned lease expires.
      }
    },
  };
}

function refused(url: string, status: number, text: string): ProbeError {
  const { title, detail } = looseFields<Record<"title" | "detail", unknown>>(leaseJson(text));
  const said = [title, detail].filter((part) => typeof part === "string").join(": ");
  const what = said === "" ? `status ${status}` : `status ${status}, ${said.slice(0, 500)}`;
  return unreachable(url, what, status >= 500 || RETRYABLE_STATUSES.has(status));
}

function parseAnswer(text: string, url: string): Awaited<ReturnType<BandwidthLeases["acquire"]>> {
  const body = leaseJson(text);
  if (body === null) throw unreachable(url, "the answer must be a JSON object", false);
  const retryAfterMs = numberOf(body, "retryAfterMs", 0, MAX_RETRY_AFTER_MS, url);
  const { lease } = body;
  if (lease === null || lease === undefined) return { lease: null, retryAfterMs };
  if (!isRecord(lease)) throw unreachable(url, "lease must be an object or null", false);
  return { lease: parseLease(lease, url), retryAfterMs };
}

function parseLease(lease: LooseFields, url: string): BandwidthLease {
  return {
    id: textOf(lease, "id", url),
    target: textOf(lease, "target", url),
    expiresInMs: numberOf(lease, "expiresInMs", 1, MAX_LEASE_MS, url),
    maxBytes: numberOf(lease, "maxBytes", 0, MAX_LEASE_BYTES, url),
  };
}

function textOf(record: LooseFields, key: string, url: string): string {
  const value = record[key];
  if (typeof value !== "string" || value === "" || value.length > 512)
    throw unreachable(url, `lease.${key} must be a text of 1 to 512 characters`, false);
  return value;
}

/** Clamps to `max`. @throws if it is below `min` or not a number */
function numberOf(record: LooseFields, key: string, min: number, max: number, url: string): number {
  const value = record[key];
  if (typeof value !== "number" || !(value >= min))
    throw unreachable(url, `${key} must be a number of at least ${min}, got ${JSON.stringify(value)}`, false);
  return Math.min(value, max);
}

function leaseJson(text: string): LooseFields | null {
  try {
    const value: unknown = parseJson(text);
    return isRecord(value) ? value : null;
  } catch {
    return null;
  }
}

function unreachable(url: string, what: string, retryable: boolean, cause?: unknown): ProbeError {
  const message = `cannot get a bandwidth lease from ${url}: ${what}`;
  return new ProbeError("probe_lease_unreachable", message, { retryable, cause });
}

async function readAnswer(response: FetchAnswer, url: string): Promise<string> {
  const tooLong = (): ProbeError =>
    unreachable(url, `the answer must have at most ${MAX_BODY_BYTES} bytes, got more`, false);
  return (await boundedBody(response, MAX_BODY_BYTES, tooLong)).toString("utf8");
}
