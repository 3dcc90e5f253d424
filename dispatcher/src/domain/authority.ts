interface Authority {
  /** namespace/name */
  readonly service: string;
  readonly port: number | null;
}

const MAX_LENGTH = 300;
const AUTHORITY =
  /^([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)\.([a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?)(?:\.svc(?:\.[-a-z0-9.]*)?)?\.?(?::(\d{1,5}))?$/i;

/** Parses `service.namespace`, optionally with `.svc`, domain and port; null if it is no such name. */
export function readAuthority(text: string): Authority | null {
  const [, name, namespace, port] = (text.length > MAX_LENGTH ? null : AUTHORITY.exec(text)) ?? [];
  if (name === undefined || namespace === undefined) return null;
  const service = `${namespace}/${name}`.toLowerCase();
  if (port === undefined) return { service, port: null };
  return Number(port) > 0 && Number(port) <= 65_535 ? { service, port: Number(port) } : null;
}

/** Splits `http://host/path`, as sent to a proxy; null if malformed. */
export function readAbsolute(url: string): { readonly authority: string; readonly path: string } | null {
  const [, authority, path = "/"] = /^http:\/\/([^/?#@]+)([/?][^#]*)?$/i.exec(url) ?? [];
  if (authority === undefined) return null;
  return { authority, path: path.startsWith("/") ? path : `/${path}` };
}
