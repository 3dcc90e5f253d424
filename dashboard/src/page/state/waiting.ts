import { signal } from "@preact/signals";
import { isList, looseFields, looseText } from "@isochrone/primitives";
import type { Readiness } from "../model/waiting.ts";

export const readiness = signal<Readiness>({ kind: "silent" });

const ASK_EVERY_MS = 3_000;
const PATIENCE_MS = 4_000;
let askedAtMs = -Infinity;
let isUnderWay = false;

export async function askReadiness(): Promise<void> {
  if (isUnderWay || performance.now() - askedAtMs < ASK_EVERY_MS) return;
  isUnderWay = true;
  readiness.value = await answerOf();
  askedAtMs = performance.now();
  isUnderWay = false;
}

async function answerOf(): Promise<Readiness> {
  try {
    const response = await fetch("readyz", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) });
    if (response.ok) return { kind: "ready" };
    const { reasons } = looseFields(await response.json());
    return { kind: "starting", reasons: isList(reasons) ? reasons.map(looseText) : [] };
  } catch (error) {
    return error instanceof TypeError ? { kind: "unreachable" } : { kind: "silent" };
  }
}
