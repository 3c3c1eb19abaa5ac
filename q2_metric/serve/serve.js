"use strict";
// Shows that an answer is being scored. Ctrl+Enter does the same as the button "Judge".
(() => {
const byId = (id) => document.getElementById(id);
const [form, frame, judge, state] = ["form", "explanation", "judge", "status"].map(byId);

form.addEventListener("submit", () => {
  judge.disabled = true;
  state.textContent = "Judging …";
});
frame.addEventListener("load", () => {
  if (judge.disabled) frame.scrollIntoView({block: "nearest"});
  judge.disabled = false;
  state.textContent = "";
});
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey) && !judge.disabled) {
    form.requestSubmit();
  }
});
})();
