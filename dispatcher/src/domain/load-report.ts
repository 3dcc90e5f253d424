// ORCA load reports: header `endpoint-load-metrics` as text or JSON, or a probe's body.
import { isRecord, type LooseFields, parseJson } from "@isochrone/primitives";
import type { LoadReport } from "@isochrone/dispatch/endpoints";

export const LOAD_HEADER = "endpoint-load-metrics";

const MAX_LENGTH = 4_096;
const MAX_UTILIZATION = 100;
const MAX_RATE = 1e9;

/** `TEXT name=value,…` or `JSON {…}`; null if invalid, which counts as no report. */
export function readLoadHeader(text: string): LoadReport | null {
  if (text.length > MAX_LENGTH) return null;
  if (text.startsWith("JSON ")) return readLoadJson(text.slice(5));
  return text.startsWith("TEXT ") ? reportOf(textFields(text.slice(5))) : null;
}

export function readLoadJson(text: string): LoadReport | null {
  if (text.length > MAX_LENGTH) return null;
  try {
    const json: unknown = parseJson(text);
    return isRecord(json) ? reportOf(json) : null;
  } catch {
    return null;
  }
}

function textFields(text: string): LooseFields {
  const entries = text.split(",").map((entry) => {
    const at = entry.search(/[=:]/);
    return at < 0
      ? ([entry.trim(), ""] as const)
      : ([entry.slice(0, at).trim(), entry.slice(at + 1)] as const);
  });
  return Object.fromEntries(
    entries.map(([name, value]) => [name, value.trim() === "" ? NaN : Number(value)]),
  );
}

function reportOf(fields: LooseFields): LoadReport | null {
  const application = amount(fields, ["application_utilization", "applicationUtilization"], MAX_UTILIZATION);
  const cpu = amount(fields, ["cpu_utilization", "cpuUtilization"], MAX_UTILIZATION);
  const requestsPerSecond = amount(fields, ["rps_fractional", "rpsFractional"], MAX_RATE);
  const errorsPerSecond = amount(fields, ["eps"], MAX_RATE);
  if ([application, cpu, requestsPerSecond, errorsPerSecond].some(Number.isNaN)) return null;
  // 0 is unset: the proto can't distinguish them, and Envoy and gRPC then use the CPU.
  const utilization = application || cpu;
  return utilization === null ? null : { utilization, requestsPerSecond, errorsPerSecond };
}

/** Null if absent; NaN if invalid. */
function amount(fields: LooseFields, names: readonly string[], most: number): number | null {
  const value = names.map((name) => fields[name]).find((each) => each !== undefined);
  if (value === undefined) return null;
  return typeof value === "number" && value >= 0 && value <= most ? value : Number.NaN;
}
