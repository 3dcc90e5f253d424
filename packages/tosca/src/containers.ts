// Containers of templates without a Deployment: a node template with an image is a container.
import { isRecord } from "@isochrone/primitives";
import { checkValues, fieldsOf } from "./application.ts";
import type { Cursor, Fields } from "./cursor.ts";

const CONTAINER_FIELDS = [
  "image",
  "command",
  "args",
  "envFrom",
  "resources",
  "securityContext",
  "workingDir",
  "imagePullPolicy",
  "lifecycle",
  "livenessProbe",
  "readinessProbe",
  "startupProbe",
  "stdin",
  "tty",
];

export const CONTAINER_PROPERTIES: readonly string[] = [...CONTAINER_FIELDS, "env", "ports"];

const IMAGE = /(^|[.:])((Container|Docker)?Image|Dockerfile)([.:]|$)/;
const MACHINE_IMAGE = /[.:]VM([.:]|$)/;

export function imageArtifact(template: Cursor): Cursor | null {
  const artifacts = template.get("artifacts")?.children() ?? [];
  const found = artifacts.find((each) => {
    const type = each.isMap ? each.get("type")?.value : undefined;
    return typeof type === "string" && IMAGE.test(type) && !MACHINE_IMAGE.test(type);
  });
  return found ?? null;
}

export function containerOf(name: string, properties: ReadonlyMap<string, Cursor>): Fields {
  const fields: Record<string, unknown> = { name };
  for (const key of CONTAINER_FIELDS) {
    const at = properties.get(key);
    if (at === undefined) continue;
    checkValues(at);
    fields[key] = key === "command" || key === "args" ? at.items().map((item) => item.value) : at.value;
  }
  const env = properties.get("env");
  if (env !== undefined) fields.env = env.isMap ? variablesOf(env) : env.items().map(fieldsOf);
  const ports = portsOf(properties)
    .map((port) =>
      fieldsIn(port, ["name", "protocol", "hostPort", "hostIP"], { containerPort: targetOf(port) }),
    )
    .filter(({ containerPort }) => containerPort !== undefined);
  if (ports.length > 0) fields.ports = uniquePorts(ports);
  return fields;
}

/** Service ports: those with a `port`. Throws ToscaError. */
export function servicePortsOf(properties: ReadonlyMap<string, Cursor>): Fields[] {
  const ports = portsOf(properties).filter((port) => port.port !== undefined || port.published !== undefined);
  return ports.map((port) => {
    const number = port.port ?? port.published;
    const name = ports.length > 1 ? { name: port.name ?? `port-${String(number)}` } : {};
    return {
      ...fieldsIn(port, ["name", "protocol", "nodePort"], { port: number, targetPort: targetOf(port) }),
      ...name,
    };
  });
}

function portsOf(properties: ReadonlyMap<string, Cursor>): Fields[] {
  const at = properties.get("ports");
  if (at === undefined) return [];
  if (!at.isMap) return at.items().map((item) => fieldsOf(item));
  return at.entries().map(([target, published]) => {
    const number = Number(target);
    if (!Number.isInteger(number)) throw published.error("invalid_value", "must belong to a port's number");
    return { containerPort: number, port: published.amount() };
  });
}

function targetOf(port: Fields): unknown {
  return port.containerPort ?? port.targetPort ?? port.target ?? port.port;
}

function fieldsIn(port: Fields, keys: readonly string[], others: Fields): Fields {
  const entries = [...keys.map((key) => [key, port[key]] as const), ...Object.entries(others)];
  return Object.fromEntries(
    entries
      .filter(([, value]) => value !== undefined)
      .map(([key, value]) => [key, key === "protocol" ? String(value).toUpperCase() : value]),
  );
}

/** Kubernetes rejects duplicate container ports. */
function uniquePorts(ports: readonly Fields[]): Fields[] {
  return [
    ...new Map(
      ports.map((port) => [`${String(port.containerPort)} ${String(port.protocol)}`, port]),
    ).values(),
  ];
}

function variablesOf(env: Cursor): Fields[] {
  return env.entries().map(([name, { value }]) => ({ name, value: isRecord(value) ? value : String(value) }));
}

const CONTAINER_KEYS = new Set(["containers", "image"]);
const MAX_SEARCHED = 100_000;

export function templateWithContainers(templates: Cursor): Cursor | null {
  for (const template of templates.isMap ? templates.children() : []) {
    const found = (template.isMap ? imageArtifact(template) : null) ?? containersIn(template);
    if (found !== null) return found;
  }
  return null;
}

export function containersIn(template: Cursor): Cursor | null {
  const queue = [template];
  for (let index = 0; index < queue.length && index < MAX_SEARCHED; index++) {
    const at = queue[index]!;
    if (typeof at.value !== "object" || at.value === null) continue;
    if (!at.isMap) {
      queue.push(...at.items());
      continue;
    }
    for (const [key, inner] of at.entries()) {
      if (CONTAINER_KEYS.has(key) && inner.value !== null && inner.value !== "") return inner;
      queue.push(inner);
    }
  }
  return null;
}
