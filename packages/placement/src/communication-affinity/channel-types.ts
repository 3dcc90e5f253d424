// Relationship types of Marchese 2022 (figure 1, section 3.3), extended by users' declarations.
import { PlacementError } from "../scoring/errors.ts";

export interface ChannelType {
  readonly name: string;
  /** Parent type. Null: this is the base type. */
  readonly derivedFrom: string | null;
  /** Criticality of its channels, at least 0. Null: inherited. */
  readonly priority: number | null;
}

export const BASE_TYPE = "PriorityRoute";
/** Type of a channel known only to have answered requests. */
export const REQUEST_TYPE = "SynchronousRoute";

/** Figure 1 of Marchese 2022: synchronous and heavyweight protocols have higher priority. */
export const CHANNEL_TYPES: readonly ChannelType[] = [
  { name: BASE_TYPE, derivedFrom: null, priority: 0 },
  { name: REQUEST_TYPE, derivedFrom: BASE_TYPE, priority: 25 },
  { name: "AsynchronousRoute", derivedFrom: BASE_TYPE, priority: 1 },
  { name: "HTTPRoute", derivedFrom: REQUEST_TYPE, priority: 100 },
  { name: "gRPCRoute", derivedFrom: REQUEST_TYPE, priority: 50 },
  { name: "AMQPRoute", derivedFrom: "AsynchronousRoute", priority: 5 },
  { name: "HTTPServerPushRoute", derivedFrom: "AsynchronousRoute", priority: 10 },
];

export const LARGEST_PRIORITY: number = Math.max(...CHANNEL_TYPES.map(({ priority }) => priority ?? 0));

export class ChannelTypes {
  readonly #types = new Map<string, ChannelType>();
  /** Cap for priorities that channels declare. */
  readonly largestPriority: number;

  /**
   * Overrides types of Marchese 2022; omitted fields keep their value. Throws PlacementError
   * `invalid_setting`.
   */
  constructor(declared: readonly DeclaredType[] = []) {
    for (const type of CHANNEL_TYPES) this.#types.set(type.name, type);
    for (const { name, derivedFrom, priority } of declared) {
      checkType(name, priority);
      const known = this.#types.get(name);
      this.#types.set(name, {
        name,
        derivedFrom: derivedFrom ?? (known === undefined ? BASE_TYPE : known.derivedFrom),
        priority: priority ?? known?.priority ?? null,
      });
    }
    for (const { name } of declared) this.#checkDescent(name);
    this.largestPriority = Math.max(...[...this.#types.values()].map(({ priority }) => priority ?? 0));
  }

  /**
   * Parses `HTTPRoute=80, MQTTRoute<AsynchronousRoute=2, GraphQLRoute<HTTPRoute`. Throws PlacementError
   * `invalid_setting`.
   */
  static parse(text: string): ChannelTypes {
    const entries = text.split(",").map((entry) => entry.trim());
    return new ChannelTypes(entries.filter((entry) => entry !== "").map(readEntry));
  }

  /** Returns null for an unknown type. Accepts a TOSCA namespace prefix: `kubernetes:HTTPRoute`. */
  priorityOf(name: string): number | null {
    let type = this.#types.get(name) ?? this.#types.get(name.slice(name.lastIndexOf(":") + 1));
    while (type !== undefined) {
      if (type.priority !== null) return type.priority;
      type = type.derivedFrom === null ? undefined : this.#types.get(type.derivedFrom);
    }
    return null;
  }

  #checkDescent(name: string): void {
    const passed: string[] = [];
    for (let type = this.#types.get(name)!; type.derivedFrom !== null;) {
      passed.push(type.name);
      if (passed.includes(type.derivedFrom)) {
        throw invalid(`must not be derived from itself, got ${[...passed, type.derivedFrom].join(" < ")}`);
      }
      const parent = this.#types.get(type.derivedFrom);
      if (parent === undefined)
        throw invalid(`must derive ${type.name} from a type that exists, got ${type.derivedFrom}`);
      type = parent;
    }
  }
}

interface DeclaredType {
  readonly name: string;
  readonly derivedFrom?: string | null;
  readonly priority?: number | null;
}

function readEntry(entry: string): DeclaredType {
  const match = /^(?<name>[^<=\s]+)\s*(?:<\s*(?<parent>[^<=\s]+)\s*)?(?:=\s*(?<priority>[^<=\s]+))?$/.exec(
    entry,
  );
  if (match === null) throw invalid(`must be entries such as MQTTRoute<AsynchronousRoute=2, got ${entry}`);
  const { name = "", parent = null, priority } = match.groups ?? {};
  return { name, derivedFrom: parent, priority: priority === undefined ? null : Number(priority) };
}

function checkType(name: string, priority: number | null | undefined): void {
  if (priority !== null && priority !== undefined && !(priority >= 0 && priority < Infinity))
    throw invalid(`must give ${name} a finite priority of at least 0, got ${priority}`);
}

function invalid(rule: string): PlacementError {
  return new PlacementError("invalid_setting", `channelPriorities ${rule}`);
}
