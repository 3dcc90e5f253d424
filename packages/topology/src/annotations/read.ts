import { parseAmount, type Bytes, type Millicores, parseJson } from "@isochrone/primitives";
import { ANNOTATION_NAMES, DEFAULT_ANNOTATION_PREFIXES, mapName } from "./names.ts";
import type { AnnotatedPeer, AnnotationFamily } from "./names.ts";
import type { NodeFigures } from "./write.ts";

/** An invalid annotation; its figure counts as unknown. */
export interface AnnotationFault {
  readonly key: string;
  readonly rule: string;
  readonly value: unknown;
}

/** Time of the annotated figures, ms since the epoch. Null: not annotated. */
interface Observed {
  readonly observedAtMs: number | null;
  readonly faults: readonly AnnotationFault[];
}

export interface ReadNodeAnnotations extends NodeFigures, Observed {}

export interface ReadTraffic extends Pick<AnnotatedPeer, "name"> {
  readonly namespace: string | null;
  readonly bytesPerSecond: number;
  /** Whether the workload calls this peer. Null: unknown. */
  readonly isCalled: boolean | null;
}

export interface ReadWorkloadAnnotations extends Observed {
  readonly cpuMillicores: Millicores | null;
  readonly memoryBytes: Bytes | null;
  readonly traffic: readonly ReadTraffic[];
}

export type RawAnnotations = Readonly<Record<string, unknown>>;

/** Reads each name under the first prefix that has it. Never throws. */
export function readNodeAnnotations(
  annotations: RawAnnotations,
  prefixes: readonly string[] = DEFAULT_ANNOTATION_PREFIXES,
): ReadNodeAnnotations {
  const reader = new Reader(annotations, prefixes);
  return {
    availableCpuMillicores: millicores(reader.quantity(ANNOTATION_NAMES.availableCpu)),
    availableMemoryBytes: reader.quantity(ANNOTATION_NAMES.availableMemory),
    networkCostsMs: new Map(
      reader.family("network-cost").map(({ name, hashed, value }) => [hashed ?? name, value]),
    ),
    coordinate: reader.coordinate(),
    observedAtMs: reader.time(),
    faults: reader.faults,
  };
}

export function readWorkloadAnnotations(
  annotations: RawAnnotations,
  prefixes: readonly string[] = DEFAULT_ANNOTATION_PREFIXES,
): ReadWorkloadAnnotations {
  const reader = new Reader(annotations, prefixes);
  const called = reader.called();
  return {
    cpuMillicores: millicores(reader.quantity(ANNOTATION_NAMES.cpuUsage)),
    memoryBytes: reader.quantity(ANNOTATION_NAMES.memoryUsage),
    traffic: reader.family("traffic").map(({ name, hashed, value }) => ({
      ...peerOf(name, hashed),
      bytesPerSecond: value,
      isCalled: called === null ? null : called.has(name),
    })),
    observedAtMs: reader.time(),
    faults: reader.faults,
  };
}

/** Peer of a name. Hashes map to `<name>` or `<namespace>/<name>`; plain names use a dot. */
function peerOf(name: string, hashed: string | null): { namespace: string | null; name: string } {
  const text = hashed ?? name;
  const at = text.indexOf(hashed === null ? "." : "/");
  return at <= 0
    ? { namespace: null, name: text }
    : { namespace: text.slice(0, at), name: text.slice(at + 1) };
}

function millicores(cores: number | null): number | null {
  // 0.1 cores are 100 millicores, not 100.00000000000001.
  return cores === null ? null : Number((cores * 1000).toPrecision(15));
}

interface Found {
  readonly key: string;
  readonly value: unknown;
}

class Reader {
  readonly faults: AnnotationFault[] = [];
  readonly #values = new Map<string, Found>();

  constructor(annotations: RawAnnotations, prefixes: readonly string[]) {
    for (const prefix of prefixes) {
      for (const [key, value] of Object.entries(annotations)) {
        if (!key.startsWith(prefix)) continue;
        const name = key.slice(prefix.length);
        if (!name.includes("/") && !this.#values.has(name)) this.#values.set(name, { key, value });
      }
    }
  }

  /** Reads a non-negative quantity in its base unit. */
  quantity(name: string): number | null {
    const found = this.#values.get(name);
    if (found === undefined) return null;
    const value = parseAmount(found.value);
    return value !== null && value >= 0 ? value : this.#fault(found, "must be a quantity of at least 0");
  }

  family(family: AnnotationFamily): { name: string; hashed: string | null; value: number }[] {
    const map = this.#names(mapName(family));
    const start = `${family}-`;
    const found: { name: string; hashed: string | null; value: number }[] = [];
    for (const key of this.#values.keys()) {
      if (!key.startsWith(start) || key.length === start.length || (key === mapName(family) && map !== null))
        continue;
      const value = this.quantity(key);
      const name = key.slice(start.length);
      if (value !== null) found.push({ name, hashed: map?.get(name) ?? null, value });
    }
    return found;
  }

  coordinate(): number[] | null {
    const found = this.#values.get(ANNOTATION_NAMES.networkCoordinate);
    if (found === undefined) return null;
    const numbers = jsonOf(found.value);
    return isFiniteList(numbers) && numbers.length >= 2 && numbers.at(-1)! >= 0
      ? numbers
      : this.#fault(found, "must be a JSON list of numbers, the last of at least 0");
  }

  called(): ReadonlySet<string> | null {
    const found = this.#values.get(ANNOTATION_NAMES.calls);
    if (found === undefined) return null;
    const names = jsonOf(found.value);
    return Array.isArray(names) && names.every((name) => typeof name === "string")
      ? new Set(names)
      : this.#fault(found, "must be a JSON list of names");
  }

  time(): number | null {
    const found = this.#values.get(ANNOTATION_NAMES.observedAt);
    if (found === undefined) return null;
    const timeMs = typeof found.value === "string" ? Date.parse(found.value) : Number.NaN;
    return Number.isNaN(timeMs) ? this.#fault(found, "must be a time (RFC 3339)") : timeMs;
  }

  /** Reads the map of hashes. Null: there is none, as an object may itself be named "names". */
  #names(name: string): ReadonlyMap<string, string> | null {
    const found = this.#values.get(name);
    if (typeof found?.value !== "string" || !found.value.trimStart().startsWith("{")) return null;
    const json = jsonOf(found.value);
    if (typeof json !== "object" || json === null) {
      this.#fault(found, "must be a JSON object of names");
      return new Map();
    }
    return new Map(
      Object.entries(json).filter((entry): entry is [string, string] => typeof entry[1] === "string"),
    );
  }

  #fault({ key, value }: Found, rule: string): null {
    this.faults.push({ key, rule, value });
    return null;
  }
}

function jsonOf(text: unknown): unknown {
  if (typeof text !== "string") return null;
  try {
    return parseJson(text);
  } catch {
    return null;
  }
}

function isFiniteList(value: unknown): value is number[] {
  return Array.isArray(value) && value.every((each) => typeof each === "number" && Number.isFinite(each));
}
