"use strict";
// Keys of the labelling page: grades, difficulties, fields, other items; Enter saves, Escape leaves
// a field, Ctrl+Enter saves from within one.
document.addEventListener("keydown", (event) => {
  const form = document.getElementById("vote");
  if (!form || event.altKey) return;
  const inText = event.target.tagName === "TEXTAREA";
  if (inText && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    form.requestSubmit();
  }
  if (inText && event.key === "Escape") event.target.blur();
  if (inText || event.ctrlKey || event.metaKey) return;
  if (event.key === "Enter" && !["BUTTON", "A", "SUMMARY"].includes(event.target.tagName)) {
    event.preventDefault();
    form.requestSubmit();
    return;
  }
  const field = [...form.elements].find((each) => each.dataset.key === event.key);
  const other = [...document.querySelectorAll("[data-key]:not(form *)")].find(
    (each) => each.dataset.key === event.key
  );
  if (other) other.click();
  if (field || other) event.preventDefault();
  if (!field) return;
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
