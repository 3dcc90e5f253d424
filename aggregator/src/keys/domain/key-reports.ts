import { AggregatorError } from "../../ports/errors.ts";

/** Request header with a probe's keys: `1,2;signing=1`. Without keys: `;signing=0`. */
export const KEY_REPORT_HEADER = "isochrone-probe-keys";

const MAX_KEYS = 32;
const MAX_KEY_ID = 65_535;
const REPORT = /^((?:[1-9]\d{0,4})(?:,[1-9]\d{0,4}){0,31})?;signing=(0|[1-9]\d{0,4})$/;
const MAX_SHOWN = 80;

export interface KeyReport {
  readonly heldKeyIds: readonly number[];
  /** 0: its packets are not signed. */
  readonly signingKeyId: number;
}

/** @throws AggregatorError `bad_probe_keys` with the rule and the value */
export function parseKeyReport(text: string): KeyReport {
  const match = REPORT.exec(text);
  if (match === null) refuse(`be up to ${MAX_KEYS} key ids and the signing one, such as 1,2;signing=1`, text);
  const heldKeyIds = (match[1] ?? "").split(",").filter(Boolean).map(Number);
  const signingKeyId = Number(match[2]);
  if (heldKeyIds.some((id) => id > MAX_KEY_ID)) refuse(`have key ids from 1 to ${MAX_KEY_ID}`, text);
  if (new Set(heldKeyIds).size < heldKeyIds.length) refuse("have each key id once", text);
  if (signingKeyId === 0 ? heldKeyIds.length > 0 : !heldKeyIds.includes(signingKeyId)) {
    refuse("sign with a key that is held, or with 0 when there is none", text);
  }
  return { heldKeyIds, signingKeyId };
}

/** Newest report per probe. It stays valid while the probe is silent, because keys only get newer. */
export class KeyReports {
  readonly #maxAgeMs: number;
  readonly #reports = new Map<string, { readonly report: KeyReport | null; readonly atMs: number }>();

  /** @param maxAgeMs a probe that was silent for longer does not count as live */
  constructor(maxAgeMs: number) {
    this.#maxAgeMs = maxAgeMs;
  }

  get size(): number {
    return this.#reports.size;
  }

  record(node: string, report: KeyReport | null, nowMs: number): void {
    this.#reports.set(node, { report, atMs: nowMs });
  }

  of(node: string): KeyReport | null {
    return this.#reports.get(node)?.report ?? null;
  }

  /** Returns true if the probe requested a plan recently. */
  isLive(node: string, nowMs: number): boolean {
    const last = this.#reports.get(node);
    return last !== undefined && nowMs - last.atMs <= this.#maxAgeMs;
  }

  retain(isKnown: (node: string) => boolean): void {
    for (const node of this.#reports.keys()) if (!isKnown(node)) this.#reports.delete(node);
  }
}

function refuse(rule: string, text: string): never {
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  throw new AggregatorError(
    "bad_probe_keys",
    `header ${KEY_REPORT_HEADER} must ${rule}, got ${JSON.stringify(shown)}`,
  );
}
