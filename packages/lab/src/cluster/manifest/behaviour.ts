import { BEHAVIOUR } from "../names.ts";
import type { Behaviour } from "./model.ts";

const MAX_BODY_BYTES = 8 * 1024 * 1024;
const MAX_CPU_MS = 1_000;
const SERVICE_NAME = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

/** Reads the behaviour of the stand-in program from a pod template's annotations; `refuse` is told each broken rule. */
export function readBehaviour(
  annotations: Readonly<Record<string, string>>,
  refuse: (annotation: string, message: string) => void,
): Behaviour {
  const number = (name: string, fallback: number, max: number, integer: boolean): number => {
    const text = annotations[name];
    if (text === undefined) return fallback;
    const value = text.trim() === "" ? Number.NaN : Number(text);
    const valid =
      Number.isFinite(value) && value >= 0 && value <= max && (!integer || Number.isInteger(value));
    if (valid) return value;
    refuse(name, `${name} must be ${integer ? "an integer" : "a number"} from 0 to ${max}, got "${text}"`);
    return fallback;
  };
  return {
    calls: readCalls(annotations[BEHAVIOUR.calls] ?? "", refuse),
    responseBytes: number(BEHAVIOUR.responseBytes, 1024, MAX_BODY_BYTES, true),
    requestBytes: number(BEHAVIOUR.requestBytes, 256, MAX_BODY_BYTES, true),
    cpuMs: number(BEHAVIOUR.cpuMs, 0, MAX_CPU_MS, false),
  };
}

function readCalls(text: string, refuse: (annotation: string, message: string) => void): string[] {
  const names = text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  for (const [index, name] of names.entries()) {
    if (!SERVICE_NAME.test(name))
      refuse(BEHAVIOUR.calls, `${BEHAVIOUR.calls} must list service names, got "${name}"`);
    if (names.indexOf(name) !== index) refuse(BEHAVIOUR.calls, `${BEHAVIOUR.calls} names "${name}" twice`);
  }
  return names;
}
