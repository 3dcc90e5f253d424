// Requests to the graph API with the token that a person entered.
import { signal } from "@preact/signals";
import { looseFields } from "@isochrone/primitives";
import { ServerClock } from "../model/server-clock.ts";

const TOKEN_KEY = "isochrone-token";
/** What the server takes in an Authorization header. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/;
/**
 * A refused token is shown to the server again after this long only: it could have erred, but must not be
 * asked each second.
 */
const REFUSED_MS = 30_000;

/** The server wants a token, or another one. */
export class TokenNeeded extends Error {}

/** The server has said no. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, detail: string) {
    super(detail);
    this.status = status;
  }
}

/** Whether the form is shown, and what is wrong with the token in use. */
export const signIn = signal<{ readonly isWanted: boolean; readonly mistake: string }>({
  isWanted: false,
  mistake: "",
});

/**
 * Kept for this tab, and gone with it: the token is in no address, no cookie and no file of the browser's
 * profile. The worker that shares the event stream knows it while this tab follows.
 */
export const token = signal(sessionStorage.getItem(TOKEN_KEY) ?? "");
export const hasToken = signal(token.peek() !== "");
let refusal: { readonly token: string; readonly untilMs: number } | null = null;

const clock = new ServerClock();

/** Wall milliseconds, by the server's clock once it has answered: ages are of times that it wrote. */
export function serverMs(): number {
  return clock.nowMs(performance.now(), Date.now());
}

interface Request {
  readonly path: string;
  /** Monotonic. */
  readonly sinceMs: number;
}

/** Requests without an answer, the oldest first. */
const underWay = new Set<Request>();

/** The oldest request without an answer; null: none is under way. */
export function oldestRequest(): { readonly path: string; readonly waitedMs: number } | null {
  for (const { path, sinceMs } of underWay) return { path, waitedMs: performance.now() - sinceMs };
  return null;
}

/** What asks the server. */
type Fetcher = (path: string, init: RequestInit & { readonly headers: Headers }) => Promise<Response>;

/**
 * Like fetch, of a path below this page's own. Rejects with TokenNeeded, and shows the form for it, where the
 * server wants a token.
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
  // Another one may have been entered meanwhile.
  if (sent === token.peek()) {
    refusal = { token: sent, untilMs: performance.now() + REFUSED_MS };
    askForToken(sent === "" ? "" : `Not signed in: ${detail}.`);
  }
  throw new TokenNeeded();
}

/** JSON of a path. Rejects with Refused where the server says no. */
export async function getJson<T>(path: string, aborted?: AbortSignal): Promise<T> {
  const init: RequestInit = { headers: { accept: "application/json" } };
  if (aborted !== undefined) init.signal = aborted;
  return (await (await allowed(await ask(path, init))).json()) as T;
}

/** The response, if it is one of success. */
export async function allowed(response: Response): Promise<Response> {
  if (response.ok) return response;
  throw new Refused(response.status, await detailOf(response));
}

/** What the server says about its refusal. */
async function detailOf(response: Response): Promise<string> {
  try {
    const { detail } = looseFields<Record<"detail", unknown>>(await response.json());
    if (typeof detail === "string" && detail !== "") return detail;
  } catch {
    // No problem document; the status has to do.
  }
  return `it answered ${response.status}`;
}

export function askForToken(mistake: string): void {
  signIn.value = { isWanted: true, mistake };
}

/** The graphs could be read. */
export function tokenWorks(): void {
  if (signIn.peek().isWanted) signIn.value = { isWanted: false, mistake: "" };
  hasToken.value = token.peek() !== "";
}

/** Takes what somebody entered; false when it can't be a token. */
export function enterToken(text: string): boolean {
  // Terminals break long lines, and what is copied has the breaks.
  const entered = text.replaceAll(/\s+/g, "");
  if (!TOKEN.test(entered)) {
    askForToken("That is no token: it is empty, too long, or has characters that no token has.");
    return false;
  }
  refusal = null;
  token.value = entered;
  sessionStorage.setItem(TOKEN_KEY, entered);
  // Taken; the form comes back where the server refuses, which it may be unable to say yet.
  signIn.value = { isWanted: false, mistake: "" };
  hasToken.value = true;
  return true;
}

export function signOut(): void {
  sessionStorage.removeItem(TOKEN_KEY);
  // Anew, so that nothing of what was shown is left.
  location.reload();
}
