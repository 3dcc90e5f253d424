// Rules of a webhook registration for commands, without a running service.
export { rulesOfRegistration } from "./webhook/registration.ts";
export { isUnanswered } from "./webhook/unanswered.ts";
