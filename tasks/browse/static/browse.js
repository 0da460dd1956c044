"use strict";
// Keys of the labelling page: grades, difficulties, fields; Enter saves, Escape leaves a field.
document.addEventListener("keydown", (event) => {
  const form = document.getElementById("vote");
  if (!form || event.ctrlKey || event.altKey || event.metaKey) return;
  const inText = event.target.tagName === "TEXTAREA";
  if (inText) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "Enter" && !["BUTTON", "A", "SUMMARY"].includes(event.target.tagName)) {
    event.preventDefault();
    form.requestSubmit();
    return;
  }
  const field = [...form.elements].find((each) => each.dataset.key === event.key);
  if (!field) return;
  event.preventDefault();
  field.closest("details")?.setAttribute("open", "");
  field.focus();
  if (field.type === "radio") field.checked = true;
  if (field.type === "checkbox") field.checked = !field.checked;
});
document.addEventListener("submit", (event) => {
  if (event.target.dataset.sent) event.preventDefault();
  event.target.dataset.sent = "1";
});
window.addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});
