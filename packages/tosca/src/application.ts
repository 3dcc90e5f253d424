// What is read from a template, whichever way it was written.
import { isDnsLabel, isDnsSubdomain, isLabelValue } from "@isochrone/kubernetes";
import { NO_NETWORK_LIMIT } from "@isochrone/topology";
import { isRecord, looseFields, parseBitsPerSecond, type BitsPerSecond } from "@isochrone/primitives";
import type { Cursor, Fields } from "./cursor.ts";
import { localName, SERVICE_TYPE_HINT } from "./definitions.ts";
import type { ToscaError } from "./errors.ts";
import { ConsequenceError, type Mistakes } from "./mistakes.ts";
import { inheritedPriority } from "./route-types.ts";
import { LIMITS } from "./source.ts";
import { bitsPerSecondOf } from "./values.ts";

/** A capability of a service, its type first, then what that is derived from; local names. */
export interface Capability {
  readonly types: readonly string[];
  readonly properties: ReadonlyMap<string, Cursor>;
}

/** Properties of a relationship that a channel has. */
export const CHANNEL_PROPERTIES: readonly string[] = ["priority", "maxNetworkCost", "minBandwidth"];

/** Capabilities that objects are made of. */
const ROLES = ["Metadata", "Service", "Deployment"];

/** Properties of a capability of these types that are read; null: all of them. */
export function neededProperties(types: readonly string[], isGraphOnly: boolean): readonly string[] | null {
  if (!ROLES.some((role) => types.includes(role))) return [];
  if (!isGraphOnly) return null;
  return types.includes("Metadata") ? ["name", "namespace"] : [];
}

/** A Service node template as it was read. */
export interface ServiceDraft {
  readonly template: string;
  readonly at: Cursor;
  readonly capabilities: readonly Capability[];
  /** Properties of the container that the node template is; null: it is none by itself. */
  readonly container: ReadonlyMap<string, Cursor> | null;
  /** Node templates that it runs on or in and that are no services. */
  readonly hosts: readonly string[];
}

/** A `route` requirement as it was read. */
export interface RouteDraft {
  /** Node templates. */
  readonly source: string;
  readonly target: string;
  readonly at: Cursor;
  /** The relationship's type first, then what that is derived from; names as they were written. */
  readonly types: readonly string[];
  readonly properties: ReadonlyMap<string, Cursor>;
}

/** A service: in the end a Deployment and a Service of this name. */
export interface ServiceNode {
  readonly template: string;
  readonly name: string;
  readonly namespace: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  /** Properties of the capability, and its type (ClusterIP, …; Service: not said). Null: it has none. */
  readonly service: { readonly type: string; readonly properties: ReadonlyMap<string, Cursor> } | null;
  /** Properties of the capability. Null: it has none. */
  readonly deployment: ReadonlyMap<string, Cursor> | null;
  /** Properties of the container that the node template is; null: it is none by itself. */
  readonly container: ReadonlyMap<string, Cursor> | null;
  /** Node templates that it runs on or in and that are no services. */
  readonly hosts: readonly string[];
  readonly at: Cursor;
}

/** What one service says to another one; names of node templates' services. */
export interface RouteChannel {
  readonly source: ServiceNode;
  readonly target: ServiceNode;
  /** Local name of the relationship's type. */
  readonly relationshipType: string;
  /** Null: neither the relationship nor its types have one. */
  readonly priority: number | null;
  readonly maxNetworkCost: number | null;
  readonly minBandwidthBitsPerSecond: BitsPerSecond | null;
}

export interface Application {
  /** Of the workflow and its AppGroup. */
  readonly name: string;
  readonly namespace: string;
  readonly services: readonly ServiceNode[];
  readonly channels: readonly RouteChannel[];
  /** What the reader left out or took otherwise, for the user. */
  readonly notes: readonly string[];
  /** The topology, or the Clout. */
  readonly root: Cursor;
}

/** What a reader found. */
export interface Draft {
  readonly root: Cursor;
  /** As the template calls itself; null: not at all. */
  readonly name: string | null;
  readonly services: readonly ServiceDraft[];
  readonly routes: readonly RouteDraft[];
  readonly notes: readonly string[];
  /** Of the reader so far. */
  readonly mistakes: Mistakes;
}

export interface Naming {
  /** @default the template's name, else the file's */
  readonly name?: string;
  /** Of services that name none. @default the one that all services name, else default */
  readonly namespace?: string;
}

/** Checks names and joins channels. Throws a ToscaError of all mistakes, those of the reader included. */
export function applicationOf(draft: Draft, naming: Naming, fileName: string): Application {
  const { root, routes, mistakes } = draft;
  const renamed: string[] = [];
  const named = draft.services.flatMap(
    (service) => mistakes.attempt(() => metadataOf(service, renamed)) ?? [],
  );
  if (draft.services.length === 0 && mistakes.isEmpty) throw noServices(draft);
  if (naming.namespace !== undefined && !isDnsLabel(naming.namespace))
    mistakes.add(
      root.error(
        "invalid_option",
        `must be put into a namespace by its name, got ${JSON.stringify(naming.namespace)}`,
      ),
    );
  const namespace = naming.namespace ?? commonNamespace(named) ?? "default";
  const notes = [...draft.notes];
  if (renamed.length > 0) notes.push(`names that Kubernetes doesn't take: ${renamed.join(", ")}`);
  const services = named.map((each) => ({ ...each, namespace: each.namespace ?? namespace }));
  checkUnique(services, mistakes);
  if (services.some((service) => service.namespace !== namespace))
    notes.push(
      `services outside of ${namespace} are parts of workflows of their own namespaces, too; channels that they start count only where aggregator.declareFor allows objects in ${namespace} to declare them`,
    );
  const byTemplate = new Map(services.map((service) => [service.template, service]));
  const channels = routes.flatMap((route) => mistakes.attempt(() => channelOf(route, byTemplate)) ?? []);
  const name = mistakes.attempt(() => applicationName(naming, draft.name ?? fileName, root));
  mistakes.check();
  return { name: name!, namespace, services, channels: joined(channels, notes), notes, root };
}

const SHOWN_NOTES = 8;

/** A template may lack what it doesn't need here; without services, that is what is wrong with it. */
function noServices({ root, notes }: Draft): ToscaError {
  const found = notes.length === 0 ? "" : ` (${notes.slice(-SHOWN_NOTES).join("; ")})`;
  return root.error(
    "invalid_value",
    `must have a node template whose type is a Service, got none${found}; ${SERVICE_TYPE_HINT}; or name your types in a file and give it by --mapping`,
  );
}

/** Adds names that had to change to `renamed`. */
function metadataOf(
  { template, at, capabilities, container, hosts }: ServiceDraft,
  renamed: string[],
): Omit<ServiceNode, "namespace"> & {
  readonly namespace: string | null;
} {
  // A node type may offer several; the first one that the template uses counts.
  const byRole = (role: string): Capability | undefined => {
    const found = capabilities.filter(({ types }) => types.includes(role));
    return found.find(({ properties }) => properties.size > 0) ?? found[0];
  };
  const metadata = byRole("Metadata")?.properties ?? new Map<string, Cursor>();
  const service = byRole("Service");
  return {
    template,
    at,
    container,
    hosts,
    name: serviceName(metadata.get("name") ?? templateName(template, at, renamed)),
    namespace: namespaceName(metadata.get("namespace")),
    labels: textsOf(metadata.get("labels")),
    annotations: textsOf(metadata.get("annotations")),
    service: service === undefined ? null : { type: service.types[0]!, properties: service.properties },
    deployment: byRole("Deployment")?.properties ?? null,
  };
}

/** The node template's name with dashes for what a name can't have. */
function templateName(template: string, at: Cursor, renamed: string[]): Cursor {
  if (isDnsSubdomain(template) && isLabelValue(template)) return at.with(template);
  const name = dashed(template);
  if (name !== "") renamed.push(`${template} is ${name}`);
  return at.with(name === "" ? template : name);
}

const MAX_NAME = 63;

/** At most 63 lower-case letters, digits and dashes; "" if there is none of them. */
function dashed(text: string): string {
  return text
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, "-")
    .slice(0, MAX_NAME)
    .replaceAll(/^-+|-+$/g, "");
}

/** Also of a label's value: pods name their workload by it. */
function serviceName(at: Cursor): string {
  const name = at.text();
  if (!isDnsSubdomain(name) || !isLabelValue(name))
    throw at.fail(
      "must be called by a name that Kubernetes takes (a-z, 0-9, -, at most 63 characters)",
      "invalid_value",
    );
  return name;
}

function namespaceName(at: Cursor | undefined): string | null {
  if (at === undefined) return null;
  if (!isDnsLabel(at.text())) throw at.fail("must be a namespace's name", "invalid_value");
  return at.text();
}

function textsOf(at: Cursor | undefined): Record<string, string> {
  return Object.fromEntries((at?.entries() ?? []).map(([key, inner]) => [key, inner.text()]));
}

function commonNamespace(services: readonly { readonly namespace: string | null }[]): string | null {
  const [first] = services;
  return services.every(({ namespace }) => namespace === first?.namespace)
    ? (first?.namespace ?? null)
    : null;
}

function checkUnique(services: readonly ServiceNode[], mistakes: Mistakes): void {
  const known = new Map<string, ServiceNode>();
  for (const service of services) {
    const key = `${service.namespace}/${service.name}`;
    const before = known.get(key);
    if (before !== undefined)
      mistakes.add(
        service.at.error(
          "invalid_value",
          `must not be called as ${before.template} is, got ${JSON.stringify(service.name)}`,
        ),
      );
    else known.set(key, service);
  }
}

/** Lower case, and dashes for what a name can't have. */
function applicationName(naming: Naming, otherwise: string, root: Cursor): string {
  const wanted = naming.name ?? otherwise;
  const name = naming.name !== undefined && wanted.length > MAX_NAME ? wanted : dashed(wanted);
  if (!isDnsLabel(name))
    throw root.error(
      naming.name === undefined ? "invalid_value" : "invalid_option",
      `must be called by a name of at most 63 letters and digits (--name gives another one), got ${JSON.stringify(wanted)}`,
    );
  return name;
}

function channelOf(route: RouteDraft, services: ReadonlyMap<string, ServiceNode>): RouteChannel {
  const { types, properties } = route;
  const cost = properties.get("maxNetworkCost");
  if (cost !== undefined && !(Number.isInteger(cost.value) && cost.amount() <= NO_NETWORK_LIMIT))
    throw cost.fail(`must be a whole number from 0 to ${NO_NETWORK_LIMIT}`, "invalid_value");
  const priority = properties.get("priority")?.amount() ?? inheritedPriority(types);
  const minBandwidthBitsPerSecond = bandwidthOf(properties.get("minBandwidth"));
  const [source, target] = [services.get(route.source), services.get(route.target)];
  if (source === undefined || target === undefined)
    throw new ConsequenceError(`${route.source} -> ${route.target}`);
  return {
    source,
    target,
    relationshipType: localName(types[0]!),
    priority,
    maxNetworkCost: cost?.amount() ?? null,
    minBandwidthBitsPerSecond,
  };
}

/** A TOSCA bit rate or a Kubernetes quantity of bits per second. */
function bandwidthOf(at: Cursor | undefined): number | null {
  if (at === undefined) return null;
  const value = isRecord(at.value)
    ? looseFields<Record<"$originalString", unknown>>(at.value).$originalString
    : at.value;
  const bits = (typeof value === "string" ? bitsPerSecondOf(value) : null) ?? parseBitsPerSecond(value);
  if (bits === null || !(bits >= 0)) throw at.fail("must be a bit rate, as 10 Mbps or 10M", "invalid_value");
  return bits;
}

/**
 * One channel for each ordered pair: the highest priority with its type, the tightest limit, the bandwidths
 * summed.
 */
function joined(channels: readonly RouteChannel[], notes: string[]): RouteChannel[] {
  const pairs = Map.groupBy(channels, ({ source, target }) => `${source.template}\n${target.template}`);
  return [...pairs.values()].map((several) => {
    const [first, ...others] = several.toSorted((a, b) => (b.priority ?? 0) - (a.priority ?? 0));
    if (others.length === 0) return first!;
    const { source, target, relationshipType } = first!;
    notes.push(
      `${source.name} -> ${target.name}: ${several.length} routes are one channel, by the ${relationshipType} of the highest priority`,
    );
    const costs = several.flatMap(({ maxNetworkCost }) => (maxNetworkCost === null ? [] : [maxNetworkCost]));
    const needs = several.flatMap(({ minBandwidthBitsPerSecond: bits }) => (bits === null ? [] : [bits]));
    return {
      ...first!,
      maxNetworkCost: costs.length === 0 ? null : Math.min(...costs),
      minBandwidthBitsPerSecond: needs.length === 0 ? null : needs.reduce((sum, bits) => sum + bits, 0),
    };
  });
}

/**
 * A value as fields, of a size that can be written out: functions may repeat a value many times. Throws
 * ToscaError.
 */
export function fieldsOf(at: Cursor): Fields {
  checkValues(at);
  return at.map().value as Fields;
}

export function checkValues(at: Cursor): void {
  let left: number = LIMITS.values;
  const visit = (value: unknown): void => {
    if (--left < 0) throw at.error("too_large", `must have at most ${LIMITS.values} values, got more`);
    if (typeof value === "object" && value !== null) for (const inner of Object.values(value)) visit(inner);
  };
  visit(at.value);
}
