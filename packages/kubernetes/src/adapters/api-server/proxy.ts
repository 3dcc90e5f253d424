// Proxy selection by environment, with the rules of Go's net/http and thus of kubectl.
import { BlockList, isIP } from "node:net";

export type ProxyEnv = Readonly<Record<string, string | undefined>>;

/** Returns the proxy of a server, or null. Loopback and NO_PROXY addresses have none. */
export function proxyOf(server: URL, env: ProxyEnv): string | null {
  const isTls = server.protocol === "https:";
  const proxy = isTls ? either(env, "HTTPS_PROXY") : either(env, "HTTP_PROXY");
  if (proxy === "") return null;
  const host = server.hostname.replace(/^\[(.*)\]$/, "$1").toLowerCase();
  if (isLoopback(host)) return null;
  const port = server.port || (isTls ? "443" : "80");
  const direct = either(env, "NO_PROXY").split(",");
  if (direct.some((entry) => isNamedBy(entry.trim().toLowerCase(), host, port))) return null;
  return proxy.includes("://") ? proxy : `http://${proxy}`;
}

function either(env: ProxyEnv, name: string): string {
  return env[name] || env[name.toLowerCase()] || "";
}

function isLoopback(host: string): boolean {
  return host === "localhost" || host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/** Matches `*`, a network, an address or a domain; `.name` and `*.name` match subdomains only. */
function isNamedBy(entry: string, host: string, port: string): boolean {
  if (entry === "") return false;
  if (entry === "*") return true;
  const [network = "", bits] = entry.split("/");
  if (bits !== undefined) return isWithin(network, Number(bits), host);
  const [, name = "", onlyPort] = /^\[?(.*?)\]?(?::(\d+))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry)!;
  if (onlyPort !== undefined && onlyPort !== port) return false;
  if (isIP(name) > 0) return isWithin(name, isIP(name) === 4 ? 32 : 128, host);
  const domain = name.replace(/^\*?\./, "");
  return (host === domain && domain === name) || host.endsWith(`.${domain}`);
}

function isWithin(network: string, bits: number, host: string): boolean {
  const version = isIP(network);
  const most = version === 4 ? 32 : 128;
  if (version === 0 || version !== isIP(host) || !Number.isInteger(bits) || bits < 0 || bits > most)
    return false;
  const family = version === 4 ? "ipv4" : "ipv6";
  const list = new BlockList();
  list.addSubnet(network, bits, family);
  return list.check(host, family);
}
