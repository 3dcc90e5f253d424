// Which pods the webhook is asked about: for commands that look at a registration, and need no service for
// it.
export { rulesOfRegistration } from "./webhook/registration.ts";
export { isUnanswered } from "./webhook/unanswered.ts";
