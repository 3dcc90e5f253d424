// Requests to the graph API with the token that a person entered.
import { byId } from "./dom.ts";

const TOKEN_KEY = "isochrone-token";
/** What the server takes in an Authorization header. */
const TOKEN = /^[\x21-\x7e]{1,8192}$/;
/** A refused token is shown to the server again after this long only: it could have erred, but must not be asked each second. */
const REFUSED_MS = 30_000;

/** The server wants a token, or another one. */
export class TokenNeeded extends Error {}

// For this tab alone, and gone with it: the token is in no address, no cookie and no file of the browser's profile.
let token = sessionStorage.getItem(TOKEN_KEY) ?? "";
let refusal: { readonly token: string; readonly untilMs: number } | null = null;

/** Like fetch. Rejects with TokenNeeded, and shows the form for it, where the server wants a token. */
export async function ask(path: string, init: RequestInit = {}): Promise<Response> {
  const sent = token;
  if (refusal?.token === sent && performance.now() < refusal.untilMs) throw new TokenNeeded();
  const headers = new Headers(init.headers);
  if (sent !== "") headers.set("authorization", `Bearer ${sent}`);
  const response = await fetch(path, { ...init, headers });
  if (response.status !== 401) {
    if (refusal?.token === sent) refusal = null;
    return response;
  }
  const detail = await detailOf(response);
  // Another one may have been entered meanwhile.
  if (sent === token) {
    refusal = { token: sent, untilMs: performance.now() + REFUSED_MS };
    askForToken(sent === "" ? "" : `Not signed in: ${detail}.`);
  }
  throw new TokenNeeded();
}

/** What the server says about its refusal. */
export async function detailOf(response: Response): Promise<string> {
  try {
    const { detail } = (await response.json()) as { readonly detail?: unknown };
    if (typeof detail === "string" && detail !== "") return detail;
  } catch {
    // No problem document; the status has to do.
  }
  return `it answered ${response.status}`;
}

/** Shows the form, and under it what is wrong with the token in use. */
export function askForToken(mistake: string): void {
  const line = byId("token-mistake");
  if (line.textContent !== mistake) line.textContent = mistake;
  byId("token").setAttribute("aria-invalid", String(mistake !== ""));
  byId("sign-out").hidden = true;
  const form = byId("token-form");
  if (!form.hidden) return;
  form.hidden = false;
  // Whoever reads or works elsewhere on the page is not torn away.
  if (document.activeElement === null || document.activeElement === document.body) byId("token").focus();
}

/** The graphs could be read. */
export function tokenWorks(): void {
  byId("token-form").hidden = true;
  byId("sign-out").hidden = token === "";
}

/** Calls `onToken` when somebody enters one. */
export function installTokenForm(onToken: () => void): void {
  byId("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    const input = byId("token") as HTMLInputElement;
    // Terminals break long lines, and what is copied has the breaks.
    const entered = input.value.replaceAll(/\s+/g, "");
    input.value = "";
    if (!TOKEN.test(entered))
      return askForToken("That is no token: it is empty, too long, or has characters that no token has.");
    token = entered;
    refusal = null;
    sessionStorage.setItem(TOKEN_KEY, token);
    // Taken; it comes back where the server refuses, which it may be unable to say yet.
    byId("token-form").hidden = true;
    byId("sign-out").hidden = false;
    onToken();
  });
  byId("sign-out").addEventListener("click", () => {
    sessionStorage.removeItem(TOKEN_KEY);
    // Anew, so that nothing of what was shown is left.
    location.reload();
  });
}
