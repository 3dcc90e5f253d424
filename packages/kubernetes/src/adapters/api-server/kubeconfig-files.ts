// Merges kubeconfig files as kubectl does, for the client library.
import { isRecord, keysOf, looseFields, looseList } from "@isochrone/primitives";
import { TextError, yamlValue } from "@isochrone/runtime/yaml-text";
import type { YamlLimits } from "@isochrone/runtime/yaml-text";
import { readTextFile } from "@isochrone/runtime";
import { dirname, isAbsolute, join, resolve } from "node:path";

import { proxyOf } from "./proxy.ts";
import type { ProxyEnv } from "./proxy.ts";

type Fields = Readonly<Record<string, unknown>>;

const LISTS = { clusters: "cluster", users: "user", contexts: "context" } as const;
type ListName = keyof typeof LISTS;
const LIST_NAMES = keysOf(LISTS);
/** The library rejects a whole file for an entry without these; kubectl rejects the entry when used. */
const REQUIRED: Readonly<Record<ListName, string | null>> = {
  clusters: "server",
  users: null,
  contexts: "cluster",
};

const LIMITS: YamlLimits = { bytes: 16 * 1024 * 1024, nesting: 64, lexemes: 2_000_000 };
/** The library ignores TLS settings of a context without a user, so such a context gets this empty one. */
const ANONYMOUS = "(anonymous)";

interface MergedKubeconfig extends Readonly<Record<ListName, readonly Fields[]>> {
  readonly "current-context"?: string;
}

/**
 * The first file wins for equal names and the current context. `env` supplies proxies for clusters without
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
    const json = looseFields<Record<ListName | "current-context", unknown>>(contentOf(file));
    for (const list of LIST_NAMES)
      for (const entry of looseList<Fields>(json[list])) {
        const { name } = entry;
        const key = `${list} ${String(name)}`;
        if (typeof name !== "string" || name === "" || seen.has(key)) continue;
        seen.add(key);
        const content = completed(list, looseFields<Fields>(entry[LISTS[list]]), dirname(resolve(file)), env);
        const required = REQUIRED[list];
        if (required !== null && !content[required]) continue;
        merged[list].set(name, { name, [LISTS[list]]: content });
      }
    const { "current-context": context } = json;
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

function completed(list: ListName, content: Fields, folder: string, env: ProxyEnv): Fields {
  if (list === "contexts")
    return { ...content, user: looseFields<{ user: unknown }>(content).user || ANONYMOUS };
  return list === "clusters" ? completedCluster(content, folder, env) : completedUser(content, folder);
}

function completedCluster(cluster: Fields, folder: string, env: ProxyEnv): Fields {
  const {
    server,
    "certificate-authority": caFile,
    "certificate-authority-data": caData,
    "insecure-skip-tls-verify": isUnverified,
    "proxy-url": ownProxy,
  } = looseFields<Record<string, unknown>>(cluster);
  if (typeof server !== "string" || server === "") return cluster;
  const isTls = [caFile, caData, isUnverified].some(Boolean);
  const full = /^[a-z][a-z\d+.-]*:\/\//i.test(server) ? server : `${isTls ? "https" : "http"}://${server}`;
  const url = URL.canParse(full) ? new URL(full) : null;
  return {
    ...cluster,
    server: full,
    "certificate-authority": absolute(caFile, folder),
    // The library requires this for plain HTTP, which verifies nothing anyway.
    "insecure-skip-tls-verify": url?.protocol === "http:" ? true : isUnverified,
    "proxy-url": ownProxy || (url && proxyOf(url, env)) || undefined,
  };
}

function completedUser(user: Fields, folder: string): Fields {
  const {
    "client-certificate": certificate,
    "client-key": key,
    tokenFile,
    exec,
    ...others
  } = looseFields<Record<string, unknown>>(user);
  const { token: _token, ...withoutToken } = others;
  const file = absolute(tokenFile, folder);
  const isByFile = typeof file === "string" && file !== "";
  return {
    // As in kubectl, a token file wins over a token. The library rereads it.
    ...(isByFile
      ? { ...withoutToken, "auth-provider": { name: "tokenFile", config: { tokenFile: file } } }
      : others),
    "client-certificate": absolute(certificate, folder),
    "client-key": absolute(key, folder),
    ...(isRecord(exec) ? { exec: pluginOf(exec, folder) } : {}),
  };
}

function pluginOf(exec: Fields, folder: string): Fields {
  const { command } = looseFields<{ command: unknown }>(exec);
  const hasFolder = typeof command === "string" && /[\\/]/.test(command);
  return hasFolder ? { ...exec, command: absolute(command, folder) } : exec;
}

function absolute(path: unknown, folder: string): unknown {
  return typeof path === "string" && path !== "" && !isAbsolute(path) ? join(folder, path) : path;
}

/** Headers for `as-groups`, `as-uid` and `as-user-extra`; the library supports only `as`. */
export function impersonationHeaders(
  { users }: MergedKubeconfig,
  user: string | undefined,
): Record<string, string | string[]> {
  const entry = looseFields<{ user: unknown }>(users.find(({ name }) => name === user));
  const {
    "as-groups": as,
    "as-uid": uid,
    "as-user-extra": extra,
  } = looseFields<Record<"as-groups" | "as-uid" | "as-user-extra", unknown>>(entry.user);
  const groups = textsOf(as);
  return {
    ...(groups.length > 0 ? { "impersonate-group": groups } : {}),
    ...(typeof uid === "string" ? { "impersonate-uid": uid } : {}),
    ...Object.fromEntries(
      Object.entries(looseFields(extra)).map(([key, values]) => [
        `impersonate-extra-${encodeURIComponent(key.toLowerCase())}`,
        textsOf(values),
      ]),
    ),
  };
}

function textsOf(list: unknown): string[] {
  return Array.isArray(list) ? list.filter((value) => typeof value === "string") : [];
}
