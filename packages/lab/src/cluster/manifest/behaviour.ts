import { BEHAVIOUR } from "../names.ts";
import type { Behaviour, CallOptions } from "./model.ts";

export const MAX_BODY_BYTES = 8 * 1024 * 1024;
const MAX_CPU_MS = 1_000;
const SERVICE_NAME = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;

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
  const calls = readCalls(annotations[BEHAVIOUR.calls] ?? "", refuse);
  const callOptions = readCallOptions(annotations[BEHAVIOUR.callOptions], calls, refuse);
  const only = <T extends string>(name: string, word: T): T | null => {
    const said = annotations[name];
    if (said === undefined) return null;
    if (said !== word) refuse(name, `${name} must be "${word}" or absent, got "${said}"`);
    return said === word ? word : null;
  };
  const cpuSpread = only(BEHAVIOUR.cpuSpread, "exponential");
  const cpuKind = only(BEHAVIOUR.cpuKind, "modelled");
  return {
    calls,
    responseBytes: number(BEHAVIOUR.responseBytes, 1024, MAX_BODY_BYTES, true),
    requestBytes: number(BEHAVIOUR.requestBytes, 256, MAX_BODY_BYTES, true),
    cpuMs: number(BEHAVIOUR.cpuMs, 0, MAX_CPU_MS, false),
    ...(cpuSpread === null ? {} : { cpuSpread }),
    ...(cpuKind === null ? {} : { cpuKind }),
    ...(callOptions === null ? {} : { callOptions }),
  };
}

const CALL_RULES: Readonly<Record<string, { readonly rule: string; holds(value: number): boolean }>> = {
  probability: { rule: "above 0 and at most 1", holds: (value) => value > 0 && value <= 1 },
  requestBytes: { rule: `an integer from 0 to ${MAX_BODY_BYTES}`, holds: isBodySize },
  responseBytes: { rule: `an integer from 0 to ${MAX_BODY_BYTES}`, holds: isBodySize },
};

function isBodySize(value: number): boolean {
  return Number.isInteger(value) && value >= 0 && value <= MAX_BODY_BYTES;
}

function readCallOptions(
  text: string | undefined,
  calls: readonly string[],
  refuse: (annotation: string, message: string) => void,
): Record<string, CallOptions> | null {
  if (text === undefined) return null;
  const wrong = (rule: string): null => {
    refuse(BEHAVIOUR.callOptions, `${BEHAVIOUR.callOptions} ${rule}`);
    return null;
  };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return wrong(`must be JSON, got "${text}"`);
  }
  if (typeof value !== "object" || value === null)
    return wrong(`must be an object by service, got "${text}"`);
  for (const [service, options] of Object.entries(value)) {
    if (!calls.includes(service)) return wrong(`names "${service}", which is not called`);
    for (const [name, setting] of Object.entries((options ?? {}) as Record<string, unknown>)) {
      const rule = Object.hasOwn(CALL_RULES, name) ? CALL_RULES[name]! : null;
      if (rule === null) return wrong(`has no setting "${name}"`);
      if (typeof setting !== "number" || !rule.holds(setting))
        return wrong(`${service}: ${name} must be ${rule.rule}, got ${JSON.stringify(setting)}`);
    }
  }
  return value as Record<string, CallOptions>;
}

function readCalls(text: string, refuse: (annotation: string, message: string) => void): string[] {
  const names = text
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "");
  for (const name of names)
    if (!SERVICE_NAME.test(name))
      refuse(BEHAVIOUR.calls, `${BEHAVIOUR.calls} must list service names, got "${name}"`);
  return names;
}
