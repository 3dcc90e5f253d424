const COMPACTED = "compact_rev_key";

export async function compact(url: string): Promise<number> {
  const { header } = await call<{ header: { revision: string } }>(url, "range", { key: base64(COMPACTED) });
  await call(url, "put", { key: base64(COMPACTED), value: base64(header.revision) });
  await call(url, "compaction", { revision: header.revision, physical: true });
  return Number(header.revision);
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

async function call<T>(url: string, method: string, body: object): Promise<T> {
  const response = await fetch(`${url}/v3/kv/${method}`, {
    method: "POST",
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(10_000),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`etcd answered ${response.status} to ${method}: ${text}`);
  return JSON.parse(text) as T;
}
