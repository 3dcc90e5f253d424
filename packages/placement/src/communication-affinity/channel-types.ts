// The relationship types of Marchese 2022, figure 1, and what users make of them.
// See section 3.3.
import { PlacementError } from "../scoring/errors.ts";

/** A relationship type: what kind of communication a channel is. */
export interface ChannelType {
  readonly name: string;
  /** The type that it is derived from; null for the base type alone. */
  readonly derivedFrom: string | null;
  /** How critical its channels are, 0 or more; null: as the type that it is derived from. */
  readonly priority: number | null;
}

/** The base type of all channels. */
export const BASE_TYPE = "PriorityRoute";
/** What a channel is of which only is known that its requests are answered. */
export const REQUEST_TYPE = "SynchronousRoute";

/** Figure 1 of Marchese 2022: the more synchronous and heavyweight a protocol, the higher its priority. */
export const CHANNEL_TYPES: readonly ChannelType[] = [
  { name: BASE_TYPE, derivedFrom: null, priority: 0 },
  { name: REQUEST_TYPE, derivedFrom: BASE_TYPE, priority: 25 },
  { name: "AsynchronousRoute", derivedFrom: BASE_TYPE, priority: 1 },
  { name: "HTTPRoute", derivedFrom: REQUEST_TYPE, priority: 100 },
  { name: "gRPCRoute", derivedFrom: REQUEST_TYPE, priority: 50 },
  { name: "AMQPRoute", derivedFrom: "AsynchronousRoute", priority: 5 },
  { name: "HTTPServerPushRoute", derivedFrom: "AsynchronousRoute", priority: 10 },
];

/**
 * The largest priority of Marchese 2022: what a declared one counts as at most where no profile says
 * otherwise.
 */
export const LARGEST_PRIORITY: number = Math.max(...CHANNEL_TYPES.map(({ priority }) => priority ?? 0));

/** Types by name, with the priorities that they declare or inherit. */
export class ChannelTypes {
  readonly #types = new Map<string, ChannelType>();
  /** The largest priority of all types: what a channel declares beyond it counts as it. */
  readonly largestPriority: number;

  /**
   * The types of Marchese 2022 and `declared` ones, which may have their names: then they take their place,
   * and an undeclared half (parent or priority) stays. Throws PlacementError `invalid_setting`.
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
   * From a list such as `HTTPRoute=80, MQTTRoute<AsynchronousRoute=2, GraphQLRoute<HTTPRoute`. Throws
   * PlacementError `invalid_setting`.
   */
  static parse(text: string): ChannelTypes {
    const entries = text.split(",").map((entry) => entry.trim());
    return new ChannelTypes(entries.filter((entry) => entry !== "").map(readEntry));
  }

  /**
   * null for a type that nobody declared. A name may have a namespace in front, as in TOSCA:
   * `kubernetes:HTTPRoute`.
   */
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

/** What is said of a type; the rest is inherited. */
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
