// A mapping names the types that make a workflow: services, and what makes a channel.
import { localName } from "../definitions.ts";
import { ROUTE_TYPES } from "../route-types.ts";

/** Names of types. Types derived from them are meant, too. */
export interface Mapping {
  readonly services: TypeNames;
  /** Node types that are no services, though a type that they derive from is. */
  readonly others: TypeNames;
  readonly relationships: TypeNames;
  /** Capability types: a requirement for one is a channel. */
  readonly capabilities: TypeNames;
  /** Requirements by their own names, for types that say neither relationship nor capability. */
  readonly requirements: ReadonlySet<string>;
  /** Relationship types by which one node runs on or in another one. */
  readonly hosts: TypeNames;
  /** Route types of Isochrone by relationship or capability type: they give the channel its priority. */
  readonly routes: ReadonlyMap<string, string>;
  /** Services that the user names: where there are any, no other type is guessed to be one. */
  readonly named: TypeNames;
}

/** Names of a type, and of each type that it derives from, the type itself first. */
type TypeChain = readonly (readonly string[])[];

/**
 * A set of types. A name with neither dots nor colons means that type of any namespace, a name that ends in
 * `*` all that begin so.
 */
export class TypeNames {
  readonly names: readonly string[];
  readonly #exact: ReadonlySet<string>;
  readonly #prefixes: readonly string[];

  constructor(names: Iterable<string>) {
    const all = [...names].map(canonical);
    this.names = all;
    this.#exact = new Set(all.filter((name) => !name.endsWith("*")));
    this.#prefixes = all.filter((name) => name.endsWith("*")).map((name) => name.slice(0, -1));
  }

  /** Whether one of the names of a type is in the set. */
  has(names: readonly string[]): boolean {
    return this.nameOf(names) !== null;
  }

  hasAny(chain: TypeChain): boolean {
    return chain.some((names) => this.has(names));
  }

  /** The name in the set by which the type is known; null if it isn't in the set. */
  nameOf(names: readonly string[]): string | null {
    for (const name of names.map(canonical)) {
      const found = [name, localName(name)].find((each) => this.#exact.has(each));
      if (found !== undefined) return found;
      const prefix = this.#prefixes.find((each) => name.startsWith(each));
      if (prefix !== undefined) return `${prefix}*`;
    }
    return null;
  }
}

/** Puccini writes `::`. */
function canonical(name: string): string {
  return name.replaceAll("::", ":");
}

/** Whether the mapping's nearest statement on the type says that it is a service. */
export function isServiceType(chain: TypeChain, { services, others }: Mapping): boolean {
  for (const names of chain) {
    if (others.has(names)) return false;
    if (services.has(names)) return true;
  }
  return false;
}

/** The route type that the mapping gives a relationship or capability; null if it gives none. */
export function routeTypeOf(chain: TypeChain, { routes }: Mapping): string | null {
  const known = new TypeNames(routes.keys());
  for (const names of chain) {
    const name = known.nameOf(names);
    if (name !== null) return routes.get(name) ?? null;
  }
  return null;
}

/** Published profiles: TOSCA's own types, OASIS' abstract applications, microTOSCA, MiCADO, Puccini. */
export const BUILT_IN_MAPPING: Mapping = {
  services: new TypeNames([
    "Service",
    "MicroService",
    "Application",
    "SoftwareComponent",
    "WebServer",
    "WebApplication",
    "DBMS",
    "Database",
    "LoadBalancer",
    "tosca.nodes.Container.Application",
    ...["SoftwareComponent", "WebServer", "WebApplication", "DBMS", "Database"].map(
      (name) => `tosca.nodes.${name}.*`,
    ),
    "micro.nodes.CommunicationPattern",
    "micro.nodes.Datastore",
  ]),
  others: new TypeNames([
    "tosca.nodes.Container.Runtime",
    "tosca.nodes.Abstract.*",
    "tosca.nodes.Storage.*",
    "tosca.nodes.BlockStorage",
    "tosca.nodes.network.*",
    "micro.nodes.Compute",
  ]),
  relationships: new TypeNames([
    ...ROUTE_TYPES,
    "InteractsWith",
    "Connects",
    "RoutesTo",
    "cloud.puccini.telephony:Trunk",
  ]),
  capabilities: new TypeNames(["Endpoint", "Service"]),
  requirements: new Set(["route"]),
  hosts: new TypeNames(["HostedOn", "ContainedBy"]),
  routes: new Map(),
  named: new TypeNames([]),
};
