package org.streamldp.client;

/** A report would carry what links it to others of its user, who has not agreed to that. */
public class LinkingRefusedException extends ReportRefusedException {
  private static final long serialVersionUID = 1L;

  LinkingRefusedException(String message) {
    super(message);
  }
}
