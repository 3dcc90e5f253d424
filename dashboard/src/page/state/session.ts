import { signal } from "@preact/signals";
import { looseFields } from "@isochrone/primitives";
import { ServerClock } from "../model/server-clock.ts";

const TOKEN_KEY = "isochrone-token";
const TOKEN = /^[\x21-\x7e]{1,8192}$/;
/** Retry period of a refused token: the server may have erred, but must not be asked each second. */
const REFUSED_MS = 30_000;

export class TokenNeeded extends Error {}

export class Refused extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

/** Whether the form is shown, and the fault of the current token. */
export const signIn = signal<{ readonly isWanted: boolean; readonly mistake: string }>({
  isWanted: false,
  mistake: "",
});

/**
 * Kept in session storage only: no address, cookie or profile file has it. The shared stream worker knows it
 * while this tab follows.
 */
export const token = signal(sessionStorage.getItem(TOKEN_KEY) ?? "");
export const hasToken = signal(token.peek() !== "");
let refusal: { readonly token: string; readonly untilMs: number } | null = null;

const clock = new ServerClock();

/** Wall time, ms, by the server's clock once known, since ages refer to its times. */
export function serverMs(): number {
  return clock.nowMs(performance.now(), Date.now());
}

interface Request {
  readonly path: string;
  readonly sinceMs: number;
}

const underWay = new Set<Request>();

export function oldestRequest(): { readonly path: string; readonly waitedMs: number } | null {
  for (const { path, sinceMs } of underWay) return { path, waitedMs: performance.now() - sinceMs };
  return null;
}

type Fetcher = (path: string, init: RequestInit & { readonly headers: Headers }) => Promise<Response>;

/**
 * Like fetch, below this page's path. If the server requires a token, shows the form and rejects with
 * TokenNeeded.
 */
export async function ask(path: string, init: RequestInit = {}, fetcher: Fetcher = fetch): Promise<Response> {
  const sent = token.peek();
  if (refusal?.token === sent && performance.now() < refusal.untilMs) throw new TokenNeeded();
  const headers = new Headers(init.headers);
  if (sent !== "") headers.set("authorization", `Bearer ${sent}`);
  const request = { path: path.split("?")[0]!, sinceMs: performance.now() };
  underWay.add(request);
  const response = await fetcher(path, { ...init, headers }).finally(() => underWay.delete(request));
  clock.heard(response.headers.get("date"), performance.now());
  if (response.status !== 401) {
    if (refusal?.token === sent) refusal = null;
    return response;
  }
  const detail = await detailOf(response);
  if (sent === token.peek()) {
    refusal = { token: sent, untilMs: performance.now() + REFUSED_MS };
    askForToken(sent === "" ? "" : `Not signed in: ${detail}.`);
  }
  throw new TokenNeeded();
}

export async function getJson<T>(path: string, aborted?: AbortSignal): Promise<T> {
  const init: RequestInit = { headers: { accept: "application/json" } };
  if (aborted !== undefined) init.signal = aborted;
  return (await (await allowed(await ask(path, init))).json()) as T;
}

export async function allowed(response: Response): Promise<Response> {
  if (response.ok) return response;
  throw new Refused(response.status, await detailOf(response));
}

async function detailOf(response: Response): Promise<string> {
  try {
    const { detail } = looseFields<Record<"detail", unknown>>(await response.json());
    if (typeof detail === "string" && detail !== "") return detail;
  } catch {}
  return `it answered ${response.status}`;
}

export function askForToken(mistake: string): void {
  signIn.value = { isWanted: true, mistake };
}

export function tokenWorks(): void {
  if (signIn.peek().isWanted) signIn.value = { isWanted: false, mistake: "" };
  hasToken.value = token.peek() !== "";
}

export function enterToken(text: string): boolean {
  // Copied terminal text may contain line breaks.
  const entered = text.replaceAll(/\s+/g, "");
  if (!TOKEN.test(entered)) {
    askForToken("That is no token: it is empty, too long, or has characters that no token has.");
    return false;
  }
  refusal = null;
  token.value = entered;
  sessionStorage.setItem(TOKEN_KEY, entered);
  // Accepted for now; the form returns if the server refuses later.
  signIn.value = { isWanted: false, mistake: "" };
  hasToken.value = true;
  return true;
}

export function signOut(): void {
  sessionStorage.removeItem(TOKEN_KEY);
  location.reload();
}
