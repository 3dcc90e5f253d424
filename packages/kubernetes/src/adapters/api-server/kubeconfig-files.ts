// Kubeconfig files as kubectl reads and merges them. The client library reads the merged result.
import { isRecord, looseFields, looseList } from "@isochrone/primitives";
import { TextError, yamlValue } from "@isochrone/runtime/yaml-text";
import type { YamlLimits } from "@isochrone/runtime/yaml-text";
import { readTextFile } from "@isochrone/runtime";
import { dirname, isAbsolute, join, resolve } from "node:path";

import { proxyOf } from "./proxy.ts";
import type { ProxyEnv } from "./proxy.ts";

type Fields = Record<string, unknown>;

/** Lists of named entries, and the field of an entry that holds its content. */
const LISTS = { clusters: "cluster", users: "user", contexts: "context" } as const;
type ListName = keyof typeof LISTS;
/** The library refuses a whole file for an entry without these. Kubectl refuses such an entry when it is used. */
const REQUIRED: Readonly<Record<ListName, string | null>> = {
  clusters: "server",
  users: null,
  contexts: "cluster",
};

/** A kubeconfig of some 10,000 clusters. */
const LIMITS: YamlLimits = { bytes: 16 * 1024 * 1024, nesting: 64, lexemes: 2_000_000 };
/** The library ignores the TLS settings of a context without a user, so it gets one without credentials. */
const ANONYMOUS = "isochrone.dev/anonymous";

export interface MergedKubeconfig extends Readonly<Record<ListName, readonly Fields[]>> {
  readonly "current-context"?: string;
}

/**
 * Merges the files as kubectl does: of entries with the same name, and of current contexts, the first file's
 * counts; relative paths are relative to the file that holds them. `env` names the proxy of clusters without a
 * `proxy-url`. Throws an error that names the file.
 */
export function mergedKubeconfig(files: readonly string[], env: ProxyEnv): MergedKubeconfig {
  const seen = new Set<string>();
  const merged: Record<ListName, Map<string, Fields>> = {
    clusters: new Map(),
    users: new Map([[ANONYMOUS, { name: ANONYMOUS, user: {} }]]),
    contexts: new Map(),
  };
  let current: string | undefined;
  for (const file of files) {
    const json = looseFields<Fields>(contentOf(file));
    for (const list of ["clusters", "users", "contexts"] as const)
      for (const entry of looseList<Fields>(json[list])) {
        const { name } = entry;
        const key = `${list} ${String(name)}`;
        if (typeof name !== "string" || name === "" || seen.has(key)) continue;
        seen.add(key);
        const content = { ...looseFields<Fields>(entry[LISTS[list]]) };
        const required = REQUIRED[list];
        if (required !== null && !content[required]) continue;
        complete(list, content, dirname(resolve(file)), env);
        merged[list].set(name, { name, [LISTS[list]]: content });
      }
    const context = json["current-context"];
    if (current === undefined && typeof context === "string" && context !== "") current = context;
  }
  return {
    clusters: [...merged.clusters.values()],
    users: [...merged.users.values()],
    contexts: [...merged.contexts.values()],
    ...(current === undefined ? {} : { "current-context": current }),
  };
}

function contentOf(file: string): unknown {
  let content: unknown;
  try {
    content = yamlValue(readTextFile(file, LIMITS.bytes), LIMITS) ?? {};
  } catch (error) {
    if (error instanceof TextError) throw new Error(`${file}: ${error.message}`, { cause: error });
    throw error;
  }
  if (!isRecord(content)) throw new Error(`${file} must hold an object, got ${typeof content}`);
  return content;
}

/** Changes the content to what the library understands and kubectl means. */
function complete(list: ListName, content: Fields, folder: string, env: ProxyEnv): void {
  if (list === "contexts") content["user"] ||= ANONYMOUS;
  if (list === "clusters") completeCluster(content, folder, env);
  if (list === "users") completeUser(content, folder);
}

function completeCluster(cluster: Fields, folder: string, env: ProxyEnv): void {
  makeAbsolute(cluster, "certificate-authority", folder);
  const { server } = cluster;
  if (typeof server !== "string" || server === "") return;
  const isTls = ["certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify"].some(
    (field) => Boolean(cluster[field]),
  );
  const full = /^[a-z][a-z\d+.-]*:\/\//i.test(server) ? server : `${isTls ? "https" : "http"}://${server}`;
  cluster["server"] = full;
  if (!URL.canParse(full)) return;
  const url = new URL(full);
  // The library refuses plain HTTP otherwise. It verifies nothing there in any case.
  if (url.protocol === "http:") cluster["insecure-skip-tls-verify"] = true;
  cluster["proxy-url"] ||= proxyOf(url, env) ?? undefined;
}

function completeUser(user: Fields, folder: string): void {
  for (const field of ["client-certificate", "client-key", "tokenFile"]) makeAbsolute(user, field, folder);
  const { tokenFile, exec } = user;
  if (typeof tokenFile === "string" && tokenFile !== "") {
    // A token file wins over a token, as in kubectl. The library reads it again from time to time.
    user["auth-provider"] = { name: "tokenFile", config: { tokenFile } };
    delete user["token"];
  }
  if (!isRecord(exec)) return;
  const plugin: Fields = { ...exec };
  // A command without a folder is looked for in PATH.
  if (/[\\/]/.test(String(plugin["command"]))) makeAbsolute(plugin, "command", folder);
  user["exec"] = plugin;
}

function makeAbsolute(fields: Fields, name: string, folder: string): void {
  const path = fields[name];
  if (typeof path === "string" && path !== "" && !isAbsolute(path)) fields[name] = join(folder, path);
}

/** Headers that a user's `as-groups`, `as-uid` and `as-user-extra` ask for; the library knows `as` alone. */
export function impersonationHeaders(
  { users }: MergedKubeconfig,
  user: string | undefined,
): Record<string, string | string[]> {
  const entry = users.find(({ name }) => name === user);
  const fields = looseFields<Fields>(entry?.["user"]);
  const headers: Record<string, string | string[]> = {};
  const groups = textsOf(fields["as-groups"]);
  if (groups.length > 0) headers["impersonate-group"] = groups;
  if (typeof fields["as-uid"] === "string") headers["impersonate-uid"] = fields["as-uid"];
  for (const [key, values] of Object.entries(looseFields<Fields>(fields["as-user-extra"])))
    headers[`impersonate-extra-${encodeURIComponent(key.toLowerCase())}`] = textsOf(values);
  return headers;
}

function textsOf(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((value) => typeof value === "string") : [];
}
